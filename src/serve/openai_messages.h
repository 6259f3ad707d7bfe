// The messages of OpenAI's chat completions as a conversation, and back.
#pragma once

#include <string_view>

#include "serve/body.h"
#include "text/messages.h"

namespace sluice::serve {

// One message; faults are noted in the body.
Message read_message(const Body& body);
// The same back: role, content, reasoning_content, tool_calls and what else the message has.
Json message_json(const Message& message);

// `messages` and `tools` of the body. `raw` is the body as it was sent: tools go into the prompt spelled as there.
Conversation read_conversation(const Body& body, std::string_view raw);

}  // namespace sluice::serve
