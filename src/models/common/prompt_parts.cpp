// See prompt_parts.h.
#include "models/common/prompt_parts.h"

#include "base/check.h"

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
      SLUICE_CHECK(ids.back() >= 0);
      continue;
    }
    TRY_TAKE(const std::vector<int> text, tokenizer.encode(part.text, SpecialSpelling::text));
    ids.insert(ids.end(), text.begin(), text.end());
  }
  return ids;
}

}  // namespace sluice
