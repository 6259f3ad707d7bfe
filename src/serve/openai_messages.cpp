// See openai_messages.h.
#include "serve/openai_messages.h"

#include <fmt/format.h>

#include "serve/chat_ask.h"

namespace sluice::serve {

namespace {

std::vector<ToolCall> read_calls(const Body& message) {
  std::vector<ToolCall> calls;
  const Json* const list = message.list("tool_calls");
  if (list == nullptr) return calls;
  for (std::size_t index = 0; index < list->size(); ++index) {
    const Body one = message.element("tool_calls", *list, index);
    const Body function = one.object("function");
    ToolCall call{.id = one.text_or("id", {}), .name = function.text("name")};
    const Json* const arguments = function.find("arguments");
    if (arguments != nullptr && arguments->is_object()) {
      call.arguments = arguments->dump();
      call.arguments_are_object = true;
    } else {
      call.arguments = function.text_or("arguments", {});
    }
    calls.push_back(std::move(call));
  }
  return calls;
}

}  // namespace

Message read_message(const Body& body) {
  Message message;
  if (const Result<Role> role = parse_role(body.text("role")))
    message.role = *role;
  else
    body.wrong("role", fmt::format("is wrong: {}; {}", role.error().what, role.error().hint));
  message.name = body.text_or("name", {});
  message.content = read_parts(body, "content");
  for (const char* name : {"reasoning", "reasoning_content"})
    message.reasoning = body.text_or(name, std::move(message.reasoning));
  message.calls = read_calls(body);
  message.tool_call_id = body.text_or("tool_call_id", {});
  const bool may_be_empty = message.role == Role::assistant && (!message.calls.empty() || !message.reasoning.empty());
  if (!body.has("content") && !may_be_empty) body.wrong("content", "is missing");
  return message;
}

Json message_json(const Message& message) {
  std::string content;
  for (const ContentPart& part : message.content) content += part.text;
  Json json = {{"role", role_name(message.role)}, {"content", std::move(content)}};
  if (!message.name.empty()) json["name"] = message.name;
  if (!message.reasoning.empty()) json["reasoning_content"] = message.reasoning;
  for (const ToolCall& call : message.calls)
    json["tool_calls"].push_back(
        {{"id", call.id}, {"type", "function"}, {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  if (!message.tool_call_id.empty()) json["tool_call_id"] = message.tool_call_id;
  return json;
}

Conversation read_conversation(const Body& body, std::string_view raw) {
  Conversation conversation;
  const Json* const messages = body.list("messages");
  if (messages == nullptr || messages->empty()) {
    body.wrong("messages", messages == nullptr ? "is missing" : "must not be empty");
    return conversation;
  }
  for (std::size_t index = 0; index < messages->size(); ++index)
    conversation.messages.push_back(read_message(body.element("messages", *messages, index)));
  if (const Json* const tools = body.list("tools")) {
    for (std::size_t index = 0; index < tools->size(); ++index) {
      const Body tool = body.element("tools", *tools, index);
      if (tool.text_or("type", "function") != "function") tool.wrong("type", "must be function");
      tool.object("function").text("name");
    }
    conversation.tools = raw_elements(raw_member(raw, "tools"));
  }
  return conversation;
}

}  // namespace sluice::serve
