// Writes a conversation as GLM-5.2's template does. Spec section 8.1.
//
// Where the spec leaves it open, reasoning is shown exactly as it was: then a reply that is sent back gives the tokens
// the model wrote.
#include <fmt/format.h>

#include <algorithm>

#include "models/common/format_places.h"
#include "models/common/tools.h"
#include "models/glm_dsa/chat.h"
#include "text/blanks.h"

namespace sluice::glm_dsa {

namespace {

constexpr FormatPlaces kPlaces = {.format = "GLM-5.2", .tools = true};

std::string text_of(const Message& message) {
  std::string text;
  for (const ContentPart& part : message.content) text += part.text;
  return text;
}

// What an assistant's message says and what it thought before; the thoughts may stand in the content.
struct Turn {
  std::string reasoning, content;
};
Turn turn_of(const Message& message) {
  Turn turn{message.reasoning, text_of(message)};
  constexpr std::string_view kBegin = "<think>", kEnd = "</think>";
  if (!turn.reasoning.empty()) return turn;
  const std::size_t first_end = turn.content.find(kEnd);
  if (first_end == std::string::npos) return turn;
  turn.reasoning = turn.content.substr(0, first_end);
  if (const std::size_t begin = turn.reasoning.rfind(kBegin); begin != std::string::npos)
    turn.reasoning.erase(0, begin + kBegin.size());
  turn.content.erase(0, turn.content.rfind(kEnd) + kEnd.size());
  return turn;
}

// The form of a call, as it is shown to the model.
void write_call_form(PromptWriter& prompt) {
  prompt.control("<tool_call>");
  prompt.text("{function-name}");
  for (const int number : {1, 2}) {
    prompt.control("<arg_key>");
    prompt.text(fmt::format("{{arg-key-{}}}", number));
    prompt.control("</arg_key>");
    prompt.control("<arg_value>");
    prompt.text(fmt::format("{{arg-value-{}}}", number));
    prompt.control("</arg_value>");
  }
  prompt.text("...");
  prompt.control("</tool_call>");
}

Result<> write_tools(const std::vector<std::string>& tools, PromptWriter& prompt) {
  prompt.control("<|system|>");
  prompt.text(
      "\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
      "You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n");
  for (std::size_t number = 0; number < tools.size(); ++number) {
    auto members = function_members(tools[number]);
    if (!members) return tl::unexpected<Error>(std::move(members.error()).within(fmt::format("tool {}", number + 1)));
    const bool deferred = std::ranges::any_of(
        *members, [](const JsonMember& member) { return member.key == "defer_loading" && member.literal == "true"; });
    if (deferred) continue;
    std::erase_if(*members,
                  [](const JsonMember& member) { return member.key == "defer_loading" || member.key == "strict"; });
    prompt.text(object_of(*members) + "\n");
  }
  prompt.text(
      "</tools>\n\nFor each function call, output the function name and arguments within the following XML format:\n");
  write_call_form(prompt);
  return {};
}

Result<> write_call(const ToolCall& call, PromptWriter& prompt) {
  TRY_TAKE(const std::vector<JsonMember> arguments, argument_members(call));
  prompt.control("<tool_call>");
  prompt.text(call.name);
  for (const JsonMember& argument : arguments) {
    prompt.control("<arg_key>");
    prompt.text(argument.key);
    prompt.control("</arg_key>");
    prompt.control("<arg_value>");
    prompt.text(argument.text);
    prompt.control("</arg_value>");
  }
  prompt.control("</tool_call>");
  return {};
}

Result<> write_assistant(const Message& message, bool shows_reasoning, PromptWriter& prompt) {
  const Turn turn = turn_of(message);
  prompt.control("<|assistant|>");
  prompt.control("<think>");
  if (shows_reasoning) prompt.text(turn.reasoning);
  prompt.control("</think>");
  prompt.text(stripped(turn.content));
  for (const ToolCall& call : message.calls) TRY(write_call(call, prompt));
  return {};
}

void write_result(const Message& message, bool is_first, PromptWriter& prompt) {
  if (is_first) prompt.control("<|observation|>");
  prompt.control("<tool_response>");
  prompt.text(text_of(message));
  prompt.control("</tool_response>");
}

Result<> write_messages(const std::vector<Message>& messages, bool keep_reasoning, PromptWriter& prompt) {
  const auto last_user = std::ranges::find(messages.rbegin(), messages.rend(), Role::user, &Message::role);
  const std::size_t turn_begin = static_cast<std::size_t>(messages.rend() - last_user);  // behind the last user message
  for (std::size_t at = 0; at < messages.size(); ++at) {
    const Message& message = messages[at];
    if (message.role == Role::tool) {
      write_result(message, at == 0 || messages[at - 1].role != Role::tool, prompt);
    } else if (message.role == Role::assistant) {
      if (Result<> done = write_assistant(message, keep_reasoning || at >= turn_begin, prompt); !done)
        return within_message(std::move(done.error()), at, message);
    } else {
      prompt.control(message.role == Role::user ? "<|user|>" : "<|system|>");
      prompt.text(text_of(message));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<PromptPart>> render_prompt(const Conversation& conversation, const ChatOptions& options) {
  // The template has no words for a tool call that is required and for JSON: the reply is held to them instead.
  TRY(check_messages(conversation.messages, kPlaces));
  PromptWriter prompt;
  prompt.control("[gMASK]");
  prompt.control("<sop>");
  if (options.thinking) {
    prompt.control("<|system|>");
    // Two levels: every other word means the higher one.
    prompt.text(options.effort == "high" ? "Reasoning Effort: High" : "Reasoning Effort: Max");
  }
  // Tools that must not be called are not shown.
  if (!conversation.tools.empty() && options.tool_choice != ToolChoice::none)
    TRY(write_tools(conversation.tools, prompt));
  TRY(write_messages(conversation.messages, options.keep_reasoning, prompt));
  prompt.control("<|assistant|>");
  prompt.control("<think>");
  if (!options.thinking) prompt.control("</think>");
  return prompt.take();
}

}  // namespace sluice::glm_dsa
