// Writes a conversation as pieces of XTML. Spec sections 6.1 to 6.4; where revisions of the release differ, the newer.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "models/common/format_places.h"
#include "models/kimi_k3/chat.h"
#include "text/json_text.h"

namespace sluice::kimi_k3 {

namespace {

using Attribute = std::pair<std::string_view, std::string>;

std::string escaped(std::string_view value) {
  std::string text;
  for (const char letter : value) {
    if (letter == '&')
      text += "&amp;";
    else if (letter == '"')
      text += "&quot;";
    else
      text += letter;
  }
  return text;
}

// The grammar of section 6.1, piece by piece as section 6.2 cuts it.
class Xtml {
 public:
  void open(std::string_view tag, const std::vector<Attribute>& attributes = {}) {
    control("<|open|>");
    text(tag);
    for (const auto& [key, value] : attributes) {
      text(fmt::format(" {}", key));
      text("=\"");
      text(escaped(value));
      text("\"");
    }
    control("<|sep|>");
  }
  void close(std::string_view tag) {
    control("<|close|>");
    text(tag);
    control("<|sep|>");
  }
  void end_message() {
    close("message");
    control("<|end_of_msg|>");
  }
  void text(std::string_view body) {
    if (!body.empty()) parts_.push_back({false, std::string(body)});
  }
  void element(std::string_view tag, const std::vector<Attribute>& attributes, std::string_view body) {
    open(tag, attributes);
    text(body);
    close(tag);
  }
  // A message that the program says, not the user.
  void notice(std::string_view type, std::string_view body) {
    open("message", {{"role", "system"}, {"type", std::string(type)}});
    text(body);
    end_message();
  }
  std::vector<PromptPart> take() { return std::move(parts_); }

 private:
  void control(std::string_view token) { parts_.push_back({true, std::string(token)}); }

  std::vector<PromptPart> parts_;
};

// A message of the conversation with what its place among the others says about it.
struct PlacedMessage {
  const Message* message = nullptr;
  std::string tool = {};  // of a tool's result: the tool's name
  std::size_t index = 0;  // of a tool's result: which call it answers, from 1
};

// Which of `calls` a result belongs to, or their number if that is unknown. Of equal ids the first counts.
std::size_t call_of(const Message& result, std::span<const ToolCall> calls) {
  if (result.tool_call_id.empty()) return calls.size();
  const auto found = std::ranges::find(calls, result.tool_call_id, &ToolCall::id);
  return static_cast<std::size_t>(found - calls.begin());
}

// Places a run of tool results that answer `calls`; `answered` results came before. If all of them name a call, they
// are put in the order of the calls and bear the calls' names; else they count as answers in the order they came.
Result<> place_results(std::span<const Message> results, std::span<const ToolCall> calls, std::size_t answered,
                       std::vector<PlacedMessage>& placed) {
  std::vector<std::pair<std::size_t, const Message*>> order;
  for (const Message& result : results) order.emplace_back(call_of(result, calls), &result);
  if (std::ranges::all_of(order, [&](const auto& item) { return item.first < calls.size(); })) {
    std::ranges::stable_sort(order, {}, &decltype(order)::value_type::first);
    for (const auto& [call, result] : order) placed.push_back({result, calls[call].name, call + 1});
    return {};
  }
  for (const Message& result : results) {
    ++answered;
    const std::string name = !result.name.empty()       ? result.name
                             : answered <= calls.size() ? calls[answered - 1].name
                                                        : std::string();
    if (name.empty())
      return fail(ErrorKind::bad_input, "the tool's result names neither its tool nor the call it answers",
                  "give `tool_call_id` the id of a call in the assistant's message before it, or give `name`");
    placed.push_back({&result, name, answered});
  }
  return {};
}

constexpr FormatPlaces kPlaces = {.format = "Kimi K3", .tools = true, .message_tools = true};

Result<> check(const Message& message) {
  TRY(check_message(message, kPlaces));
  const bool has_text =
      std::ranges::any_of(message.content, [](const ContentPart& part) { return !part.text.empty(); });
  if (!message.tools.empty() && has_text)
    return fail(ErrorKind::bad_input, "it declares tools and holds text as well",
                "the format has no place for both: send two messages");
  return {};
}

Result<std::vector<PlacedMessage>> place(const std::vector<Message>& messages) {
  std::vector<PlacedMessage> placed;
  std::span<const ToolCall> calls;
  std::size_t answered = 0;  // results since the calls were made
  const std::span<const Message> all(messages);
  for (std::size_t at = 0; at < all.size();) {
    const auto within = [&](Error error) { return within_message(std::move(error), at, all[at]); };
    if (Result<> sound = check(all[at]); !sound) return within(std::move(sound.error()));
    if (all[at].role == Role::tool) {
      std::size_t end = at;
      while (end < all.size() && all[end].role == Role::tool) ++end;
      if (Result<> done = place_results(all.subspan(at, end - at), calls, answered, placed); !done)
        return within(std::move(done.error()));
      answered += end - at;
      at = end;
      continue;
    }
    if (all[at].role == Role::assistant) calls = all[at].calls, answered = 0;
    placed.push_back({&all[at]});
    ++at;
  }
  return placed;
}

Result<> declare_tools(const std::vector<std::string>& tools, std::string_view introduction, Xtml& xtml) {
  std::string list;
  for (std::size_t tool = 0; tool < tools.size(); ++tool) {
    auto json = restyle_json(tools[tool], kCompactSorted);
    if (json && !json->starts_with('{')) json = fail(ErrorKind::bad_input, "its declaration is no JSON object");
    if (!json) return tl::unexpected<Error>(std::move(json.error()).within(fmt::format("tool {}", tool + 1)));
    list += (list.empty() ? "" : ",") + *json;
  }
  xtml.notice("tool-declare", fmt::format("{}\n\n```json\n[{}]\n```", introduction, list));
  return {};
}

constexpr std::string_view kToolsIntroduction = "# Tools\nHere are the available tools, described in JSONSchema.";
constexpr std::string_view kNewToolsIntroduction =
    "## New Tools Available\nThe system dynamically extends the toolset via lazy-loading.\nYou have access to all "
    "existing "
    "and extended tools.\nHere are the specs for the extended tools.";

Result<> state_effort(const std::string& effort, Xtml& xtml) {
  // The text names medium, but the release refuses it.
  constexpr std::string_view kEfforts[] = {"low", "high", "max"};
  if (std::ranges::find(kEfforts, effort) == std::end(kEfforts))
    return fail(ErrorKind::bad_input, fmt::format("thinking effort '{}' is unknown to Kimi K3", effort),
                "it knows low, high and max");
  xtml.notice("thinking-effort",
              fmt::format("`thinking_effort` guides on how much to think in your thinking channel (not including the "
                          "response channel), supported values include `low`, `medium`, `high`, and `max`.\nNow the "
                          "system is invoked with `thinking_effort={}`.",
                          effort));
  return {};
}

void state_tool_choice(ToolChoice choice, Xtml& xtml) {
  if (choice == ToolChoice::required)
    xtml.notice("tool-choice",
                "The system is invoked with `tool_choice=required`.\nYou MUST call tools in the next message.");
  if (choice == ToolChoice::none)
    xtml.notice("tool-choice",
                "The system is invoked with `tool_choice=none`.\nYou MUST NOT call any tools in the next message.");
}

// The schema of a request: given by itself, or in one of the places where clients put it inside `json_schema`.
Result<std::string> response_schema(const ResponseFormat& format) {
  if (!format.schema.empty()) return restyle_json(format.schema, kCompactSorted);
  if (format.json_schema.empty()) return "null";
  TRY_TAKE(const std::string whole, restyle_json(format.json_schema, kCompactSorted));
  if (const auto members = json_members(whole))
    for (const char* key : {"schema", "json_schema"})
      if (const auto found = std::ranges::find(*members, key, &JsonMember::key); found != members->end())
        return found->literal;
  return whole;
}

Result<> state_response_format(const ResponseFormat& format, Xtml& xtml) {
  if (format.kind == ResponseFormat::Kind::text) return {};
  const bool has_schema = format.kind == ResponseFormat::Kind::json_schema;
  std::string body = fmt::format(
      "The system is invoked with `response_format={}`.\nYour response must be raw JSON data without markdown code "
      "blocks (```json) or any additional formatting.",
      has_schema ? "json_schema" : "json_object");
  if (has_schema) {
    auto schema = response_schema(format);
    if (!schema) return tl::unexpected<Error>(std::move(schema.error()).within("the response format's schema"));
    body += fmt::format("\nThe JSON data must match the following schema:\n```json\n{}\n```", *schema);
  }
  xtml.notice("response-format", body);
  return {};
}

// The arguments of a call in history (section 6.4). A string keeps the spelling of its values; one that is no object
// is shown to the model as it is.
Result<> write_call(const ToolCall& call, std::size_t index, Xtml& xtml) {
  xtml.open("call", {{"tool", call.name}, {"index", std::to_string(index)}});
  std::string json = call.arguments;
  if (call.arguments_are_object) {
    auto restyled = restyle_json(call.arguments, kPythonDefault);
    if (restyled && !restyled->starts_with('{')) restyled = fail(ErrorKind::bad_input, "they are no JSON object");
    if (!restyled)
      return tl::unexpected<Error>(std::move(restyled.error()).within(fmt::format("arguments of call {}", index)));
    json = *restyled;
  }
  if (const auto members = json_members(json)) {
    for (const JsonMember& member : *members)
      xtml.element("argument", {{"key", member.key}, {"type", member.type}}, member.text);
  } else if (!json.empty()) {
    xtml.element("json", {{"type", "object"}}, json);
  }
  xtml.close("call");
  return {};
}

void write_content(const Message& message, Xtml& xtml) {
  for (const ContentPart& part : message.content) xtml.text(part.text);
}

Result<> write_assistant(const Message& message, bool thinking, Xtml& xtml) {
  if (thinking) xtml.element("think", {}, message.reasoning);
  xtml.open("response");
  write_content(message, xtml);
  xtml.close("response");
  if (message.calls.empty()) return {};
  xtml.open("tools");
  for (std::size_t call = 0; call < message.calls.size(); ++call) TRY(write_call(message.calls[call], call + 1, xtml));
  xtml.close("tools");
  return {};
}

Result<> write_message(const PlacedMessage& placed, bool thinking, Xtml& xtml) {
  const Message& message = *placed.message;
  if (!message.tools.empty()) return declare_tools(message.tools, kNewToolsIntroduction, xtml);
  const Role role = message.role == Role::developer ? Role::system : message.role;
  std::vector<Attribute> attributes = {{"role", std::string(role_name(role))}};
  if (message.role == Role::tool) {
    attributes.emplace_back("tool", placed.tool);
    attributes.emplace_back("index", std::to_string(placed.index));
  } else if (!message.name.empty()) {
    attributes.emplace_back("name", message.name);
  }
  xtml.open("message", attributes);
  if (message.role == Role::assistant)
    TRY(write_assistant(message, thinking, xtml));
  else
    write_content(message, xtml);
  xtml.end_message();
  return {};
}

}  // namespace

Result<std::vector<PromptPart>> render_prompt(const Conversation& conversation, const ChatOptions& options) {
  TRY_TAKE(const std::vector<PlacedMessage> messages, place(conversation.messages));
  Xtml xtml;
  if (!conversation.tools.empty()) TRY(declare_tools(conversation.tools, kToolsIntroduction, xtml));
  if (options.thinking && options.effort) TRY(state_effort(*options.effort, xtml));
  for (const PlacedMessage& placed : messages) TRY(write_message(placed, options.thinking, xtml));
  state_tool_choice(options.tool_choice, xtml);
  TRY(state_response_format(options.response_format, xtml));
  // The model continues inside this channel.
  xtml.open("message", {{"role", "assistant"}});
  xtml.open(options.thinking ? "think" : "response");
  return xtml.take();
}

ReplyParts reply_parts(bool thinking, std::string_view tool, std::span<const CallArgument> arguments) {
  ReplyParts parts;
  Xtml answer, call, end;
  if (thinking) {
    answer.close("think");
    answer.open("response");
  }
  parts.to_answer = answer.take();
  if (thinking) {
    call.close("think");
    call.open("response");
  }
  call.close("response");
  call.open("tools");
  call.open("call", {{"tool", std::string(tool)}, {"index", "1"}});
  parts.call.begin = call.take();
  for (const CallArgument& argument : arguments) {
    Xtml before, after;
    before.open("argument", {{"key", argument.name}, {"type", argument.type}});
    after.close("argument");
    parts.call.arguments.push_back({before.take(), after.take()});
  }
  end.close("call");
  end.close("tools");
  parts.call.end = end.take();
  return parts;
}

}  // namespace sluice::kimi_k3
