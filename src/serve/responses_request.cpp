// Reading a request for a response. See responses.h.
#include <climits>

#include "serve/responses.h"

namespace sluice::serve {

namespace {

// Reasoning, text and calls of one turn are items of their own; in a conversation they are one message.
class Turns {
 public:
  explicit Turns(std::vector<Message>& messages) : messages_(messages) {}

  void read(const Body& item) {
    const std::string type = item.text_or("type", "message");
    if (type == "message") {
      message(item);
    } else if (type == "reasoning") {
      Message& turn = assistant(false);
      for (const char* name : {"content", "summary"})
        if (turn.reasoning.empty())
          for (const ContentPart& part : read_parts(item, name)) turn.reasoning += part.text;
    } else if (type == "function_call") {
      assistant(true).calls.push_back(
          {.id = item.text("call_id"), .name = item.text("name"), .arguments = item.text("arguments")});
    } else if (type == "function_call_output") {
      messages_.push_back(
          {.role = Role::tool, .content = read_parts(item, "output"), .tool_call_id = item.text("call_id")});
    } else {
      item.wrong("type", "must be message, reasoning, function_call or function_call_output");
    }
  }

 private:
  void message(const Body& item) {
    const Result<Role> role = parse_role(item.text("role"));
    if (!role || *role == Role::tool) return item.wrong("role", "must be user, assistant, system or developer");
    if (!item.has("content")) item.wrong("content", "is missing");
    std::vector<ContentPart> parts = read_parts(item, "content");
    if (*role != Role::assistant) {
      messages_.push_back({.role = *role, .content = std::move(parts)});
      return;
    }
    Message& turn = assistant(messages_.empty() || messages_.back().calls.empty());
    turn.content.insert(turn.content.end(), parts.begin(), parts.end());
  }
  // The assistant's message that the item belongs to. Reasoning begins a new one unless nothing was said yet.
  Message& assistant(bool may_go_on) {
    const bool goes_on = may_go_on && !messages_.empty() && messages_.back().role == Role::assistant;
    if (!goes_on) messages_.push_back({.role = Role::assistant});
    return messages_.back();
  }

  std::vector<Message>& messages_;
};

Conversation read_input(const Body& body, std::string_view raw) {
  Conversation conversation;
  if (const std::string instructions = body.text_or("instructions", {}); !instructions.empty())
    conversation.messages.push_back({.role = Role::system, .content = {{.text = instructions}}});
  const Json* const input = body.find("input");
  if (input == nullptr) {
    body.wrong("input", "is missing");
  } else if (input->is_string()) {
    conversation.messages.push_back({.role = Role::user, .content = {{.text = input->get<std::string>()}}});
  } else if (const Json* const items = body.list("input")) {
    if (items->empty()) body.wrong("input", "must not be empty");
    Turns turns(conversation.messages);
    for (std::size_t index = 0; index < items->size(); ++index) turns.read(body.element("input", *items, index));
  }
  conversation.tools = read_tools(body, raw, "function", "parameters");
  return conversation;
}

// text.format: what chat completions call response_format.
void read_format(const Body& body, std::string_view raw, ChatAsk& ask) {
  const Body text = body.object("text");
  if (!text.has("format")) return;
  const Body format = text.object("format");
  const std::string type = format.text("type");
  ask.generation.form_field = "text.format";
  if (type == "json_object") {
    ask.generation.form.kind = AnswerForm::Kind::json_object;
    ask.options.response_format.kind = ResponseFormat::Kind::json_object;
  } else if (type == "json_schema") {
    if (!format.has("schema")) format.wrong("schema", "is missing");
    const std::string schema = raw_member(raw_member(raw_member(raw, "text"), "format"), "schema");
    ask.generation.form = {AnswerForm::Kind::json_schema, schema};
    ask.options.response_format = {ResponseFormat::Kind::json_schema, schema, {}};
  } else if (type != "text") {
    format.wrong("type", "must be text, json_object or json_schema");
  }
}

ResponseEcho read_echo(const Body& body, const ChatAsk& ask) {
  ResponseEcho echo;
  const auto or_else = [&](const char* name, Json otherwise) {
    const Json* const said = body.find(name);
    echo.fields[name] = said != nullptr ? *said : std::move(otherwise);
  };
  or_else("instructions", nullptr);
  or_else("max_output_tokens", nullptr);
  or_else("metadata", Json::object());
  or_else("parallel_tool_calls", true);
  or_else("reasoning", {{"effort", nullptr}, {"summary", nullptr}});
  echo.fields["temperature"] = ask.generation.sampling.temperature;
  or_else("text", {{"format", {{"type", "text"}}}});
  or_else("tool_choice", "auto");
  echo.fields["tools"] = Json::array();
  if (const Json* const tools = body.list("tools"))
    for (std::size_t index = 0; index < tools->size(); ++index)
      if (!is_hosted(body.element("tools", *tools, index).text_or("type", {})))
        echo.fields["tools"].push_back((*tools)[index]);
  echo.fields["top_p"] = ask.generation.sampling.top_p;
  or_else("truncation", "disabled");
  echo.fields["previous_response_id"] = nullptr;
  echo.fields["store"] = false;
  return echo;
}

}  // namespace

ApiResult<ResponseAsk> read_response(std::string_view raw, const ChatOptions& defaults,
                                     const SamplingParams& sampling) {
  auto json = parse_body(raw);
  if (!json) return tl::unexpected<ApiError>(std::move(json.error()));
  const Body body(*json);
  ResponseAsk ask;
  ask.chat.options = defaults;
  ask.chat.conversation = read_input(body, raw);
  ask.chat.generation = read_generation(body, sampling);
  ask.chat.generation.n = 1;
  if (body.has("max_output_tokens"))
    ask.chat.generation.max_tokens = static_cast<int>(body.integer_or("max_output_tokens", 1, 1, INT_MAX));
  if (body.has("previous_response_id")) body.wrong("previous_response_id", "is not supported: nothing is stored");
  if (body.flag_or("background", false)) body.wrong("background", "is not supported");
  read_tool_choice(body, false, ask.chat);
  read_format(body, raw, ask.chat);
  if (const std::string effort = body.object("reasoning").text_or("effort", {}); effort == "none")
    ask.chat.options.thinking = false;
  else if (!effort.empty())
    ask.chat.options.effort = effort;
  if (const auto& fault = body.fault()) return tl::unexpected<ApiError>(*fault);
  ask.echo = read_echo(body, ask.chat);
  return ask;
}

}  // namespace sluice::serve
