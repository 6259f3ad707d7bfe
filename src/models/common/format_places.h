// What a chat format has a place for, and the refusal of everything else: nothing of a conversation is dropped
// silently.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "text/messages.h"

namespace sluice {

struct FormatPlaces {
  std::string_view format;     // "Kimi K3", for errors
  bool tools = false;          // calls and their results
  bool message_tools = false;  // tools that a message declares
  bool reminders = false;
  bool tasks = false;
};

// Says what is wrong with one message by itself.
Result<> check_message(const Message& message, const FormatPlaces& places);
// The same for every message: names it by number and role.
Result<> check_messages(std::span<const Message> messages, const FormatPlaces& places);

// An error of message `at` of `messages`, from 0.
tl::unexpected<Error> within_message(Error error, std::size_t at, const Message& message);

}  // namespace sluice
