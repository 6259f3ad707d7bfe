// Kimi K3's chat format: XTML, an XML-like markup whose brackets are control tokens (spec section 6).
//
// <|open|>message role="user"<|sep|>Hello<|close|>message<|sep|><|end_of_msg|>
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/chat_format.h"
#include "models/common/prompt_parts.h"
#include "models/common/reply_forms.h"
#include "text/tokenizer.h"

namespace sluice::kimi_k3 {

// The pieces of a prompt, in the order of spec section 6.3 and cut as in section 6.2.
Result<std::vector<PromptPart>> render_prompt(const Conversation& conversation, const ChatOptions& options);

// What stands between the free parts of a reply (sections 6.4 and 6.5), from where the prompt ends.
struct ReplyParts {
  std::vector<PromptPart> to_answer;
  CallParts call;
};
ReplyParts reply_parts(bool thinking, std::string_view tool, std::span<const CallArgument> arguments);

// The tokens that structure consists of.
struct ControlIds {
  int open = 0, close = 0, sep = 0, end_of_msg = 0;
  std::vector<int> ends;  // of a turn: end_of_msg, and the other tokens a model may end with (spec section 6.5)
};

// Spec section 6.6. `thinking`: the prompt ended inside the think channel, else inside the response. Keeps references.
std::unique_ptr<ReplyParser> make_reply_parser(const Tokenizer& tokenizer, const ControlIds& control, bool thinking);

// Keeps a reference to the tokenizer. bad_input if it lacks a control token.
Result<std::unique_ptr<ChatFormat>> open_chat(const Tokenizer& tokenizer);

}  // namespace sluice::kimi_k3
