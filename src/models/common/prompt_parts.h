// A prompt as the pieces it is encoded from: control tokens, and text that can never become one.
//
// Every family's chat format writes these. Ids depend on where a text is cut, so a format decides what is one piece.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/tokenizer.h"

namespace sluice {

struct PromptPart {
  bool control = false;  // one control token, by its spelling; else ordinary text, whatever it looks like
  std::string text;

  bool operator==(const PromptPart&) const = default;
};

// For formats whose text runs on until the next control token, whoever wrote it.
class PromptWriter {
 public:
  void control(std::string_view token) { parts_.push_back({true, std::string(token)}); }
  void text(std::string_view text);
  std::vector<PromptPart> take() { return std::move(parts_); }

 private:
  std::vector<PromptPart> parts_;
};

// bad_input if a text is not UTF-8; unsupported if the tokenizer has no such control token.
Result<std::vector<int>> encode_parts(std::span<const PromptPart> parts, const Tokenizer& tokenizer);

// The ids of the control tokens that a format cannot do without. bad_input if the tokenizer lacks one; `format` is
// named.
Result<> find_controls(const Tokenizer& tokenizer, std::string_view format,
                       std::span<const std::pair<std::string_view, int*>> wanted);

}  // namespace sluice
