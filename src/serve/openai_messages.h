// The messages of OpenAI's chat completions as a conversation.
#pragma once

#include <string_view>

#include "serve/body.h"
#include "text/messages.h"

namespace sluice::serve {

// `messages` and `tools` of the body. `raw` is the body as it was sent: tools go into the prompt spelled as there.
Conversation read_conversation(const Body& body, std::string_view raw);

}  // namespace sluice::serve
