// GLM-5.2's chat format (spec section 8): roles, reasoning and tool calls are marked by added tokens.
//
// [gMASK]<sop><|system|>Reasoning Effort: Max<|user|>Hello<|assistant|><think>
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/chat_format.h"
#include "models/common/prompt_parts.h"
#include "text/tokenizer.h"

namespace sluice::glm_dsa {

// The pieces of a prompt, spec section 8.1. Text runs on until the next control token.
Result<std::vector<PromptPart>> render_prompt(const Conversation& conversation, const ChatOptions& options);

// The tokens that structure consists of.
struct ControlIds {
  int think = -1, end_think = -1, call = -1, end_call = -1, key = -1, end_key = -1, value = -1, end_value = -1;
  std::vector<int> ends;  // of a turn: the end of text, and every role, since a turn ends where the next one begins
};

// Spec section 8.2. `thinking`: the prompt ended inside the reasoning. `tools`: what the conversation declares; their
// schemas tell strings from other values. Keeps references to the tokenizer and the ids.
std::unique_ptr<ReplyParser> make_reply_parser(const Tokenizer& tokenizer, const ControlIds& control,
                                               std::span<const std::string> tools, bool thinking);

// Keeps a reference to the tokenizer. bad_input if it lacks a control token; unsupported if the directory holds the
// template of a sibling that writes other prompts.
Result<std::unique_ptr<ChatFormat>> open_chat(const Tokenizer& tokenizer, const std::string& directory);

}  // namespace sluice::glm_dsa
