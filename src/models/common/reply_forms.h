// What replies that are held to a form share between chat formats: see ReplyForm and CallForm in chat_format.h.
#pragma once

#include <vector>

#include "models/chat_format.h"
#include "models/common/prompt_parts.h"
#include "text/tokenizer.h"

namespace sluice {

// What a call consists of beside its values, in the pieces that it is encoded from.
struct CallParts {
  std::vector<PromptPart> begin;  // from the end of the reasoning or the prompt, with the tool's name
  struct Argument {
    std::vector<PromptPart> before, after;
  };
  std::vector<Argument> arguments;
  std::vector<PromptPart> end;
};
// Fails as encode_parts does. `ends`: see CallForm.
Result<CallForm> encode_call(const CallParts& parts, std::vector<int> ends, const Tokenizer& tokenizer);

// Of formats in which an answer stands bare behind the token that ends the reasoning.
ReplyForm bare_answer(bool thinks, int end_think, std::vector<int> ends);

}  // namespace sluice
