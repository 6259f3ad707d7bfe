// See tokenizer_json_steps.h.
#include "text/tokenizer_json_steps.h"

#include <fmt/format.h>
#include <simdjson.h>

#include "text/regex_notation.h"
#include "text/tokenizer_json.h"

namespace sluice {

namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

// Calls `visit` with each step of a list of steps that may be nested, or be one step, or be missing.
template <class Visit>
Result<> for_each_step(const object& parent, const char* name, const char* list, const Visit& visit) {
  element step;
  if (parent.at_key(name).get(step) != simdjson::SUCCESS || step.is_null()) return {};
  const auto walk = [&](const auto& self, const element& item) -> Result<> {
    std::string_view type;
    object fields;
    if (item.get(fields) != simdjson::SUCCESS || fields.at_key("type").get(type) != simdjson::SUCCESS)
      return fail(ErrorKind::bad_input, fmt::format("{}: a step without a type", name));
    if (type != "Sequence") return visit(type, fields);
    array steps;
    if (fields.at_key(list).get(steps) != simdjson::SUCCESS)
      return fail(ErrorKind::bad_input, fmt::format("{}: a Sequence without {}", name, list));
    for (const element inner : steps) TRY(self(self, inner));
    return {};
  };
  return walk(walk, step);
}

tl::unexpected<Error> unknown(std::string what) {
  return fail(ErrorKind::unsupported, std::move(what),
              "sluice reads byte-level byte-pair encodings as its families ship them");
}

bool is_set(const object& fields, const char* name, bool otherwise) {
  bool value = otherwise;
  return fields.at_key(name).get(value) == simdjson::SUCCESS ? value : otherwise;
}

Result<> read_split(const object& fields, std::vector<std::string>& patterns) {
  std::string_view regex, behavior;
  element pattern;
  if (fields.at_key("pattern").get(pattern) != simdjson::SUCCESS ||
      pattern.at_key("Regex").get(regex) != simdjson::SUCCESS)
    return unknown("pre_tokenizer: Split by something else than a Regex");
  if (fields.at_key("behavior").get(behavior) != simdjson::SUCCESS || behavior != "Isolated")
    return unknown(fmt::format("pre_tokenizer: Split with behavior '{}'", behavior));
  if (is_set(fields, "invert", false)) return unknown("pre_tokenizer: Split with invert");
  auto notation = to_pcre2(regex);
  if (!notation) return tl::unexpected<Error>(std::move(notation.error()).within("pre_tokenizer"));
  patterns.push_back(std::move(*notation));
  return {};
}

Result<TextSteps> read(const object& root) {
  TextSteps steps;
  TRY(for_each_step(root, "normalizer", "normalizers", [&](std::string_view type, const object&) -> Result<> {
    if (type != "NFC") return unknown(fmt::format("normalizer: {}", type));
    steps.nfc = true;
    return {};
  }));
  bool is_byte_level = false;
  TRY(for_each_step(root, "pre_tokenizer", "pretokenizers",
                    [&](std::string_view type, const object& fields) -> Result<> {
                      // Behind it a text consists of other characters.
                      if (is_byte_level) return unknown(fmt::format("pre_tokenizer: {} behind ByteLevel", type));
                      if (type == "Split") return read_split(fields, steps.patterns);
                      if (type != "ByteLevel") return unknown(fmt::format("pre_tokenizer: {}", type));
                      if (is_set(fields, "add_prefix_space", true))
                        return unknown("pre_tokenizer: ByteLevel with add_prefix_space");
                      is_byte_level = true;
                      if (!is_set(fields, "use_regex", true)) return {};
                      TRY_TAKE(std::string pattern, to_pcre2(kByteLevelSplit));
                      steps.patterns.push_back(std::move(pattern));
                      return {};
                    }));
  if (!is_byte_level) return unknown("pre_tokenizer: no ByteLevel");
  TRY(for_each_step(root, "decoder", "decoders", [](std::string_view type, const object&) -> Result<> {
    if (type != "ByteLevel") return unknown(fmt::format("decoder: {}", type));
    return {};
  }));
  return steps;
}

}  // namespace

Result<TextSteps> read_text_steps(const object& root, const std::string& path) {
  auto steps = read(root);
  if (!steps) return tl::unexpected<Error>(std::move(steps.error()).within(path));
  return steps;
}

}  // namespace sluice
