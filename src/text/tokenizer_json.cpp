// See tokenizer_json.h. The steps of a text (normal form, split) are read in tokenizer_json_steps.cpp.
#include "text/tokenizer_json.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>

#include "base/simdjson_refusal.h"
#include "text/byte_alphabet.h"
#include "text/merge_tokenizer.h"
#include "text/nfc.h"
#include "text/tokenizer_json_steps.h"

namespace sluice {

namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

constexpr int kMostPadding = 1024;  // rows of an embedding that have no token; 24 in released models

// Reads one file. Views point into the parsed document, which outlives this.
class TokenizerReader {
 public:
  TokenizerReader(const std::string& path, int vocab_size) : path_(path), vocab_size_(vocab_size) {}

  Result<MergeParts> read(const object& root) {
    parts_.vocab_size = vocab_size_;
    TRY(read_added(root));
    TRY_TAKE(const TextSteps steps, read_text_steps(root, path_));
    parts_.nfc = steps.nfc;
    auto pattern = SplitPattern::compile_steps(steps.patterns);
    if (!pattern) return unknown("pre_tokenizer: " + pattern.error().what);
    parts_.pattern = std::move(*pattern);
    TRY_TAKE(const object model, model_of(root));
    TRY(read_vocabulary(model));
    TRY(check_ids());
    TRY(add_entries());
    TRY(read_merges(model));
    for (AddedToken& token : parts_.added) {
      if (!parts_.nfc || !token.normalized || is_plainly_nfc(token.text)) continue;
      TRY_TAKE(token.text, to_nfc(token.text));
    }
    return std::move(parts_);
  }

 private:
  tl::unexpected<Error> wrong(std::string_view what) const {
    return fail(ErrorKind::bad_input, fmt::format("{}: {}", path_, what), "the file is damaged: fetch it again");
  }
  tl::unexpected<Error> unknown(std::string_view what) const {
    return fail(ErrorKind::unsupported, fmt::format("{}: {}", path_, what),
                "sluice reads byte-level byte-pair encodings as its families ship them");
  }

  Result<> read_added(const object& root) {
    array list;
    if (root.at_key("added_tokens").get(list) != simdjson::SUCCESS) return {};
    for (const element item : list) {
      AddedToken token;
      std::string_view text;
      std::int64_t id = -1;
      if (item.at_key("content").get(text) != simdjson::SUCCESS || item.at_key("id").get(id) != simdjson::SUCCESS ||
          text.empty())
        return wrong("added_tokens: an entry without content or id");
      if (id < 0 || id >= vocab_size_) return too_large(text, id);
      for (const char* trait : {"single_word", "lstrip", "rstrip"})
        if (bool set = false; item.at_key(trait).get(set) == simdjson::SUCCESS && set)
          return unknown(fmt::format("added token '{}' has {}", text, trait));
      token.id = static_cast<int>(id);
      token.text = text;
      [[maybe_unused]] auto special = item.at_key("special").get(token.special);       // false if it is not there
      [[maybe_unused]] auto normal = item.at_key("normalized").get(token.normalized);  // the same
      parts_.added.push_back(std::move(token));
    }
    return {};
  }

  Result<object> model_of(const object& root) const {
    object model;
    if (root.at_key("model").get(model) != simdjson::SUCCESS) return wrong("it has no model");
    std::string_view type;
    if (model.at_key("type").get(type) != simdjson::SUCCESS || type != "BPE")
      return unknown(fmt::format("model.type is '{}', not BPE", type));
    for (const char* trait : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
      element value;
      std::string_view text;
      const bool there = model.at_key(trait).get(value) == simdjson::SUCCESS && !value.is_null();
      if (there && !(value.get(text) == simdjson::SUCCESS && text.empty()))
        return unknown(fmt::format("model.{} is set", trait));
    }
    if (bool set = false; model.at_key("byte_fallback").get(set) == simdjson::SUCCESS && set)
      return unknown("model.byte_fallback is set");
    return model;
  }

  Result<> read_vocabulary(const object& model) {
    [[maybe_unused]] auto absent = model.at_key("ignore_merges").get(parts_.ignore_merges);
    object vocab;
    if (model.at_key("vocab").get(vocab) != simdjson::SUCCESS) return wrong("it has no model.vocab");
    for (const auto field : vocab) {
      std::int64_t id = -1;
      if (field.value.get(id) != simdjson::SUCCESS || id < 0)
        return wrong(fmt::format("model.vocab: the id of '{}' is no number", field.key));
      if (id >= vocab_size_) return too_large(field.key, id);
      if (!spellings_.add(field.key)) return wrong(fmt::format("model.vocab: '{}' is there twice", field.key));
      spelling_ids_.push_back(static_cast<int>(id));
    }
    return {};
  }

  tl::unexpected<Error> too_large(std::string_view text, std::int64_t id) const {
    return fail(ErrorKind::bad_input,
                fmt::format("{}: '{}' has id {}, but config.json says vocab_size {}", path_, text, id, vocab_size_),
                "the two files are of different models: fetch both again");
  }

  // Every id is there once, from 0 up to where the padding of the embedding begins.
  Result<> check_ids() {
    numbers_.assign(static_cast<std::size_t>(vocab_size_), -1);
    std::vector<bool> seen(static_cast<std::size_t>(vocab_size_));
    for (int number = 0; number < spellings_.size(); ++number) {
      const auto id = static_cast<std::size_t>(spelling_ids_[static_cast<std::size_t>(number)]);
      if (seen[id]) return wrong(fmt::format("model.vocab: id {} is there twice", id));
      seen[id] = true;
      numbers_[id] = number;
    }
    is_added_.resize(static_cast<std::size_t>(vocab_size_));
    for (const AddedToken& token : parts_.added) {
      const auto id = static_cast<std::size_t>(token.id);
      if (is_added_[id]) return wrong(fmt::format("added_tokens: id {} is there twice", id));
      // Released files list some of their added tokens in the vocabulary as well.
      if (numbers_[id] >= 0 && spellings_.bytes(numbers_[id]) != token.text)
        return wrong(fmt::format("id {} is '{}' in model.vocab and '{}' in added_tokens", id,
                                 spellings_.bytes(numbers_[id]), token.text));
      if (const int other = id_of(token.text); other >= 0 && other != token.id)
        return wrong(fmt::format("'{}' has id {} in model.vocab and {} in added_tokens", token.text, other, id));
      seen[id] = is_added_[id] = true;
    }
    const auto first_missing = std::ranges::find(seen, false);
    const auto missing = std::ranges::count(seen, false);
    if (std::find(first_missing, seen.end(), true) != seen.end())
      return wrong(fmt::format("no token has id {}", first_missing - seen.begin()));
    if (missing > kMostPadding)
      return fail(ErrorKind::bad_input,
                  fmt::format("{} holds {} tokens, but config.json says vocab_size {}", path_,
                              static_cast<std::ptrdiff_t>(seen.size()) - missing, vocab_size_),
                  "it is cut short or of another model: fetch both files again");
    return {};
  }

  bool is_control_id(int id) const {
    return is_added_[static_cast<std::size_t>(id)] && std::ranges::any_of(parts_.added, [&](const AddedToken& token) {
             return token.id == id && is_control(token);
           });
  }

  // What pieces of text can become: all but added tokens, in the order of their ids.
  Result<> add_entries() {
    for (std::size_t id = 0; id < numbers_.size(); ++id) {
      if (numbers_[id] < 0 || is_added_[id]) continue;
      const std::string_view spelling = spellings_.bytes(numbers_[id]);
      const std::optional<std::string> bytes = read_byte_alphabet(spelling);
      if (!bytes)
        return unknown(fmt::format("model.vocab: '{}' (id {}) is not written in the alphabet of bytes", spelling, id));
      if (!parts_.entries.add(*bytes)) return wrong(fmt::format("model.vocab: '{}' is empty or too many", spelling));
      parts_.entry_ids.push_back(static_cast<int>(id));
    }
    for (int value = 0; value < 256; ++value) {
      const char letter = static_cast<char>(value);
      if (parts_.entries.find({&letter, 1}) < 0)
        return wrong(fmt::format("model.vocab: no token is the single byte 0x{:02x}", value));
    }
    parts_.entries.shrink();
    parts_.entry_ids.shrink_to_fit();
    return {};
  }

  int id_of(std::string_view spelling) const {
    const int number = spellings_.find(spelling);
    return number < 0 ? -1 : spelling_ids_[static_cast<std::size_t>(number)];
  }

  Result<> read_merges(const object& model) {
    array merges;
    if (model.at_key("merges").get(merges) != simdjson::SUCCESS) return wrong("it has no model.merges");
    std::size_t rank = 0;
    for (const element merge : merges) {
      TRY(add_merge(merge, rank));
      ++rank;
    }
    parts_.merges.shrink();
    return {};
  }

  // "left right", or a list of the two.
  Result<> add_merge(const element& merge, std::size_t rank) {
    std::string_view left, right;
    array pair;
    if (merge.get(left) == simdjson::SUCCESS) {
      const std::size_t space = left.find(' ');
      if (space != std::string_view::npos) right = left.substr(space + 1);
      left = left.substr(0, std::min(space, left.size()));
    } else if (merge.get(pair) != simdjson::SUCCESS || pair.size() != 2 || pair.at(0).get(left) != simdjson::SUCCESS ||
               pair.at(1).get(right) != simdjson::SUCCESS) {
      return wrong(fmt::format("model.merges: entry {} is no pair", rank));
    }
    const int left_id = id_of(left), right_id = id_of(right), result = id_of(std::string(left) + std::string(right));
    if (left_id < 0 || right_id < 0 || result < 0)
      return wrong(fmt::format("model.merges: entry {} ('{}' and '{}') names what model.vocab does not hold", rank,
                               left, right));
    // Text must not become a control token by merging either.
    if (is_control_id(result))
      parts_.merges.skip();
    else if (!parts_.merges.add(left_id, right_id, result))
      return wrong(fmt::format("model.merges: entry {} ('{}' and '{}') is there twice", rank, left, right));
    return {};
  }

  const std::string& path_;
  int vocab_size_;
  MergeParts parts_;
  Vocabulary spellings_;           // of model.vocab, as the file has them
  std::vector<int> spelling_ids_;  // by their numbers
  std::vector<int> numbers_;       // by id: the number of the spelling, or -1
  std::vector<bool> is_added_;     // by id
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> open_tokenizer_json(const std::string& path, int vocab_size) {
  simdjson::dom::parser parser;
  element document;
  const auto problem = or_throw_refusal(parser.load(path).get(document), "the tokenizer");
  if (problem != simdjson::SUCCESS)
    return fail(ErrorKind::bad_input, fmt::format("{}: {}", path, simdjson::error_message(problem)),
                "the checkpoint's tokenizer.json stands beside config.json: fetch it again");
  object root;
  if (document.get(root) != simdjson::SUCCESS)
    return fail(ErrorKind::bad_input, fmt::format("{} is no JSON object", path), "fetch it again");
  TRY_TAKE(MergeParts parts, TokenizerReader(path, vocab_size).read(root));
  return std::make_unique<MergeTokenizer>(std::move(parts));
}

}  // namespace sluice
