// DeepSeek-V4's chat format (spec section 6): roles and reasoning are marked by added tokens, tool calls by DSML, an
// XML-like markup whose tag names begin with a token of their own.
//
// <｜begin▁of▁sentence｜>Be brief.<｜User｜>Hi<｜Assistant｜><think>
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/chat_format.h"
#include "models/common/prompt_parts.h"
#include "models/common/reply_forms.h"
#include "text/tokenizer.h"

namespace sluice::deepseek_v4 {

// Releases differ in what an effort says: the first ones know high and max, and high says nothing; later ones know low,
// high and max, each a step up.
enum class Revision { first, later };
// As the checkpoint's encoding/encoding_dsv4.py shows; without that file: first.
Revision revision_of(const std::string& directory);

// The pieces of a prompt, spec sections 6.1 and 6.2. Text runs on until the next control token.
Result<std::vector<PromptPart>> render_prompt(const Conversation& conversation, const ChatOptions& options,
                                              Revision revision);

// What a reply that is held to a form consists of beside its values: a call is written as in a prompt, each text with
// the line end behind it, since that is how these texts are cut into tokens.
CallParts call_parts(bool thinking, std::string_view tool, std::span<const CallArgument> arguments);

// The tokens that structure in a reply consists of.
struct ControlIds {
  int think = -1, end_think = -1, dsml = -1;
  std::vector<int> ends;  // of a turn: the end of text; the user's token as well, which no reply holds
};

// Spec section 6.4, lenient. `thinking`: the prompt ended inside the reasoning. Keeps references.
std::unique_ptr<ReplyParser> make_reply_parser(const Tokenizer& tokenizer, const ControlIds& control, bool thinking);

// Keeps a reference to the tokenizer. bad_input if it lacks a control token.
Result<std::unique_ptr<ChatFormat>> open_chat(const Tokenizer& tokenizer, const std::string& directory);

}  // namespace sluice::deepseek_v4
