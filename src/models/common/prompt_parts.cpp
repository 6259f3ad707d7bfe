// See prompt_parts.h.
#include "models/common/prompt_parts.h"

#include <fmt/format.h>

namespace sluice {

void PromptWriter::text(std::string_view text) {
  if (text.empty()) return;
  if (parts_.empty() || parts_.back().control) parts_.push_back({});
  parts_.back().text += text;
}

Result<std::vector<int>> encode_parts(std::span<const PromptPart> parts, const Tokenizer& tokenizer) {
  std::vector<int> ids;
  for (const PromptPart& part : parts) {
    if (part.control) {
      ids.push_back(tokenizer.special_id(part.text));
      if (ids.back() < 0) return fail(ErrorKind::unsupported, fmt::format("the tokenizer has no token {}", part.text));
      continue;
    }
    TRY_TAKE(const std::vector<int> text, tokenizer.encode(part.text, SpecialSpelling::text));
    ids.insert(ids.end(), text.begin(), text.end());
  }
  return ids;
}

Result<> find_controls(const Tokenizer& tokenizer, std::string_view format,
                       std::span<const std::pair<std::string_view, int*>> wanted) {
  for (const auto& [spelling, id] : wanted) {
    *id = tokenizer.special_id(spelling);
    if (*id < 0)
      return fail(ErrorKind::bad_input, fmt::format("the tokenizer has no token {}", spelling),
                  fmt::format("{}'s chat format needs it", format));
  }
  return {};
}

}  // namespace sluice
