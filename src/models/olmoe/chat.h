// OLMoE's chat format (spec section 4): the roles are ordinary text, only the end of a turn is a token.
//
// |||IP_ADDRESS|||<|user|>\nHi\n<|assistant|>\n, where the first is the token that also ends every answer.
#pragma once

#include <memory>

#include "models/chat_format.h"
#include "text/tokenizer.h"

namespace sluice::olmoe {

// `end_id`: the end of text as config.json says; how it is spelled differs between releases. Keeps a reference to the
// tokenizer. bad_input if that id is no control token.
Result<std::unique_ptr<ChatFormat>> open_chat(const Tokenizer& tokenizer, int end_id);

}  // namespace sluice::olmoe
