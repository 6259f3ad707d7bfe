// See format_places.h.
#include "models/common/format_places.h"

#include <fmt/format.h>

namespace sluice {

namespace {

Result<> no_place(const FormatPlaces& places, std::string_view what) {
  return fail(ErrorKind::unsupported, fmt::format("the chat format of {} has no place for {}", places.format, what));
}

}  // namespace

Result<> check_message(const Message& message, const FormatPlaces& places) {
  for (const ContentPart& part : message.content)
    if (part.kind != ContentPart::Kind::text)
      return fail(ErrorKind::unsupported, fmt::format("a part of type '{}' cannot be read", part.text),
                  "sluice runs this model on text alone: send parts of type text");
  if (message.role != Role::assistant && !message.calls.empty())
    return fail(ErrorKind::bad_input, "only an assistant's message can hold tool calls");
  if (!message.tools.empty() && message.role != Role::system && message.role != Role::developer)
    return fail(ErrorKind::bad_input, "only a system message can declare tools");
  if (!places.tools && (!message.calls.empty() || message.role == Role::tool)) return no_place(places, "tools");
  if (!places.message_tools && !message.tools.empty()) return no_place(places, "tools that a message declares");
  if (!places.reminders && message.role == Role::latest_reminder) return no_place(places, "reminders");
  if (!places.tasks && !message.task.empty()) return no_place(places, fmt::format("task '{}'", message.task));
  for (const ToolCall& call : message.calls)
    if (call.name.empty()) return fail(ErrorKind::bad_input, "a tool call has no name");
  return {};
}

Result<> check_messages(std::span<const Message> messages, const FormatPlaces& places) {
  for (std::size_t at = 0; at < messages.size(); ++at)
    if (Result<> sound = check_message(messages[at], places); !sound)
      return within_message(std::move(sound.error()), at, messages[at]);
  return {};
}

tl::unexpected<Error> within_message(Error error, std::size_t at, const Message& message) {
  return tl::unexpected<Error>(
      std::move(error).within(fmt::format("message {} ({})", at + 1, role_name(message.role))));
}

}  // namespace sluice
