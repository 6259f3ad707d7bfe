// A conversation on disk: one message a line, as OpenAI's API writes messages (role, content, reasoning_content,
// tool_calls).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "text/messages.h"

namespace sluice::cli {

// bad_input names the file and the line that is no message. A file that does not exist is refused, too.
Result<std::vector<Message>> read_conversation_file(const std::string& path);
// Written beside it first: whatever happens, the file holds the old conversation or the new one.
Result<> write_conversation_file(const std::string& path, std::span<const Message> messages);
// Adds to the end of the file, which is made if it does not exist.
Result<> append_to_conversation_file(const std::string& path, std::span<const Message> messages);

}  // namespace sluice::cli
