// See merge_tokenizer.h.
#include "text/merge_tokenizer.h"

#include <limits>

#include "base/check.h"
#include "text/nfc.h"
#include "text/utf8.h"

namespace sluice {

namespace {

constexpr int kNoToken = std::numeric_limits<int>::min();

}  // namespace

bool is_control(const AddedToken& token) { return token.text.find_first_not_of(" \t\r\n") != std::string::npos; }

MergeTokenizer::MergeTokenizer(MergeParts parts)
    : parts_(std::move(parts)), places_(static_cast<std::size_t>(parts_.vocab_size), kNoToken) {
  for (std::size_t number = 0; number < parts_.entry_ids.size(); ++number)
    places_[static_cast<std::size_t>(parts_.entry_ids[number])] = static_cast<int>(number);
  for (std::size_t index = 0; index < parts_.added.size(); ++index) {
    const AddedToken& token = parts_.added[index];
    places_[static_cast<std::size_t>(token.id)] = ~static_cast<int>(index);
    all_[token.normalized].add(token.text, token.id);
    if (!is_control(token)) text_[token.normalized].add(token.text, token.id);
  }
  for (int value = 0; value < 256; ++value) {
    const char letter = static_cast<char>(value);
    const int number = parts_.entries.find({&letter, 1});
    SLUICE_CHECK(number >= 0);
    byte_ids_[static_cast<std::size_t>(value)] = parts_.entry_ids[static_cast<std::size_t>(number)];
  }
}

// One text on its way to ids.
class MergeTokenizer::Encoding {
 public:
  Encoding(const MergeTokenizer& tokenizer, const Finders& finders)
      : tokenizer_(tokenizer), finders_(finders), bpe_(tokenizer) {}

  Result<> raw(std::string_view text) {
    return between(finders_[0], text, [this](std::string_view part) { return normalize(part); });
  }
  std::vector<int> take() { return std::move(ids_); }

 private:
  Result<> normalize(std::string_view text) {
    if (!tokenizer_.parts_.nfc || is_plainly_nfc(text)) return normal(text);
    TRY_TAKE(const std::string form, to_nfc(text));
    return normal(form);
  }
  Result<> normal(std::string_view text) {
    return between(finders_[1], text, [this](std::string_view part) { return pieces(part); });
  }
  Result<> pieces(std::string_view text) {
    return tokenizer_.parts_.pattern.split(text, [this](std::string_view piece) { bpe_.encode(piece, ids_); });
  }
  // The ids of found tokens, and `rest` for the text before, between and behind them.
  Result<> between(const SpellingFinder& finder, std::string_view text,
                   FunctionRef<Result<>(std::string_view part)> rest) {
    for (std::size_t begin = 0; begin < text.size();) {
      const SpellingFinder::Found found = finder.find(text, begin);
      const std::size_t end = std::min(found.begin, text.size());
      if (end > begin) TRY(rest(text.substr(begin, end - begin)));
      if (end == text.size()) break;
      ids_.push_back(found.id);
      begin = found.end;
    }
    return {};
  }

  const MergeTokenizer& tokenizer_;
  const Finders& finders_;
  Bpe bpe_;
  std::vector<int> ids_;
};

Result<std::vector<int>> MergeTokenizer::encode(std::string_view text, SpecialSpelling spelling) const {
  TRY(require_utf8(text));
  Encoding encoding(*this, spelling == SpecialSpelling::token ? all_ : text_);
  TRY(encoding.raw(text));
  return encoding.take();
}

int MergeTokenizer::whole(std::string_view piece) const {
  if (!parts_.ignore_merges) return -1;
  const int number = parts_.entries.find(piece);
  return number < 0 ? -1 : parts_.entry_ids[static_cast<std::size_t>(number)];
}

Joined MergeTokenizer::join(int left, int right, std::string_view) const { return parts_.merges.find(left, right); }

const AddedToken* MergeTokenizer::added(int id) const {
  const int place = places_[static_cast<std::size_t>(id)];
  return place >= 0 || place == kNoToken ? nullptr : &parts_.added[static_cast<std::size_t>(~place)];
}

std::string_view MergeTokenizer::bytes(int id) const {
  SLUICE_CHECK(id >= 0 && id < vocab_size());
  if (const AddedToken* token = added(id)) return token->text;
  const int place = places_[static_cast<std::size_t>(id)];
  return place == kNoToken ? std::string_view() : parts_.entries.bytes(place);
}

bool MergeTokenizer::is_special(int id) const {
  SLUICE_CHECK(id >= 0 && id < vocab_size());
  const AddedToken* const token = added(id);
  return token != nullptr ? is_control(*token) : places_[static_cast<std::size_t>(id)] == kNoToken;
}

bool MergeTokenizer::is_shown(int id) const {
  const AddedToken* const token = added(id);
  return token != nullptr ? !token->special : places_[static_cast<std::size_t>(id)] != kNoToken;
}

int MergeTokenizer::special_id(std::string_view spelling) const {
  for (const SpellingFinder& finder : all_)
    if (const int id = finder.id_of(spelling); id >= 0 && is_special(id)) return id;
  return -1;
}

std::uint64_t MergeTokenizer::resident_bytes() const {
  std::uint64_t bytes = sizeof *this + parts_.entries.resident_bytes() + parts_.merges.resident_bytes() +
                        parts_.pattern.resident_bytes() +
                        (parts_.entry_ids.capacity() + places_.capacity()) * sizeof(int);
  for (const AddedToken& token : parts_.added) bytes += sizeof token + token.text.capacity();
  for (const Finders* finders : {&text_, &all_})
    for (const SpellingFinder& finder : *finders) bytes += finder.resident_bytes();
  return bytes;
}

}  // namespace sluice
