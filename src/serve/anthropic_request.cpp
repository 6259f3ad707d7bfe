// Reading Anthropic's messages. See anthropic.h.
//
// A user's message may hold results of tools and text; here they become messages of their own, results first, as the
// conversation of a chat format wants them.
#include <climits>

#include "serve/anthropic.h"

namespace sluice::serve {

namespace {

void read_assistant_block(const Body& block, const std::string& type, Message& message) {
  if (type == "text") {
    message.content.push_back({.text = block.text("text")});
  } else if (type == "thinking") {
    message.reasoning += block.text("thinking");
  } else if (type == "tool_use") {
    const Json* const input = block.find("input");
    message.calls.push_back({.id = block.text("id"),
                             .name = block.text("name"),
                             .arguments = input == nullptr ? "{}" : input->dump(),
                             .arguments_are_object = true});
    if (input != nullptr && !input->is_object()) block.wrong("input", "must be an object");
  } else if (type != "redacted_thinking") {
    block.wrong("type", "must be text, thinking or tool_use in an assistant's message");
  }
}

void read_turn(const Body& body, std::vector<Message>& messages) {
  const std::string role = body.text("role");
  if (role != "user" && role != "assistant") return body.wrong("role", "must be user or assistant");
  Message message{.role = role == "user" ? Role::user : Role::assistant};
  const Json* const content = body.find("content");
  if (content == nullptr) return body.wrong("content", "is missing");
  if (content->is_string()) {
    message.content.push_back({.text = content->get<std::string>()});
    messages.push_back(std::move(message));
    return;
  }
  const Json* const blocks = body.list("content");
  for (std::size_t index = 0; blocks != nullptr && index < blocks->size(); ++index) {
    const Body block = body.element("content", *blocks, index);
    const std::string type = block.text("type");
    if (message.role == Role::assistant) {
      read_assistant_block(block, type, message);
    } else if (type == "tool_result") {
      messages.push_back(
          {.role = Role::tool, .content = read_parts(block, "content"), .tool_call_id = block.text("tool_use_id")});
    } else if (type == "text") {
      message.content.push_back({.text = block.text("text")});
    } else {
      message.content.push_back({.kind = ContentPart::Kind::media, .text = type});
    }
  }
  if (!message.content.empty() || !message.calls.empty() || !message.reasoning.empty())
    messages.push_back(std::move(message));
}

void read_choice(const Body& body, ChatAsk& ask) {
  if (!body.has("tool_choice")) return;
  const Body choice = body.object("tool_choice");
  const std::string type = choice.text("type");
  if (type == "any") {
    ask.options.tool_choice = ToolChoice::required;
  } else if (type == "none") {
    ask.options.tool_choice = ToolChoice::none;
  } else if (type == "tool") {
    name_tool(choice, ask);
    ask.named_field = "tool_choice.name";
  } else if (type != "auto") {
    choice.wrong("type", "must be auto, any, tool or none");
  }
}

// How the answer must look, and how hard to think about it.
void read_output(const Body& body, std::string_view raw, ChatAsk& ask) {
  const Body config = body.object("output_config");
  if (const std::string effort = config.text_or("effort", {}); !effort.empty()) ask.options.effort = effort;
  const bool in_config = config.has("format");
  if (!in_config && !body.has("output_format")) return;
  const Body format = in_config ? config.object("format") : body.object("output_format");
  if (format.text("type") != "json_schema") format.wrong("type", "must be json_schema");
  if (!format.has("schema")) format.wrong("schema", "is missing");
  format.object("schema");
  const std::string spelled =
      in_config ? raw_member(raw_member(raw, "output_config"), "format") : raw_member(raw, "output_format");
  const std::string schema = raw_member(spelled, "schema");
  ask.generation.form_field = in_config ? "output_config.format" : "output_format";
  ask.generation.form = {AnswerForm::Kind::json_schema, schema};
  ask.options.response_format = {ResponseFormat::Kind::json_schema, schema, {}};
}

}  // namespace

ApiResult<ChatAsk> read_messages(std::string_view raw, const ChatOptions& defaults, const SamplingParams& sampling,
                                 bool counted) {
  auto json = parse_body(raw);
  if (!json) return tl::unexpected<ApiError>(std::move(json.error()));
  const Body body(*json);
  ChatAsk ask;
  ask.options = defaults;
  body.text_or("model", {});
  if (std::vector<ContentPart> system = read_parts(body, "system"); !system.empty())
    ask.conversation.messages.push_back({.role = Role::system, .content = std::move(system)});
  const Json* const messages = body.list("messages");
  if (messages == nullptr || messages->empty())
    body.wrong("messages", messages == nullptr ? "is missing" : "must not be empty");
  for (std::size_t index = 0; messages != nullptr && index < messages->size(); ++index)
    read_turn(body.element("messages", *messages, index), ask.conversation.messages);
  ask.conversation.tools = read_tools(body, raw, "custom", "input_schema");
  read_choice(body, ask);
  read_output(body, raw, ask);

  GenerationAsk& generation = ask.generation;
  generation.sampling = sampling;
  if (!body.has("max_tokens") && !counted) body.wrong("max_tokens", "is missing");
  generation.max_tokens = static_cast<int>(body.integer_or("max_tokens", 1, 1, INT_MAX));
  generation.sampling.temperature = body.number_or("temperature", sampling.temperature, 0, 100);
  generation.sampling.top_p = body.number_or("top_p", sampling.top_p, 1e-9, 1);
  generation.sampling.top_k = static_cast<int>(body.integer_or("top_k", sampling.top_k, 0, INT_MAX));
  generation.stream = body.flag_or("stream", false);
  const Json* const stops = body.list("stop_sequences");
  for (std::size_t index = 0; stops != nullptr && index < stops->size(); ++index) {
    const Json& stop = (*stops)[index];
    if (stop.is_string() && !stop.get_ref<const std::string&>().empty())
      generation.stops.push_back(stop.get<std::string>());
    else
      body.wrong("stop_sequences", "must hold strings that are not empty");
  }
  if (body.has("thinking")) {
    const Body thinking = body.object("thinking");
    const std::string type = thinking.text("type");
    if (type == "enabled" || type == "disabled" || type == "adaptive")
      ask.options.thinking = type != "disabled";
    else
      thinking.wrong("type", "must be enabled or disabled");
  }
  if (const auto& fault = body.fault()) return tl::unexpected<ApiError>(*fault);
  return ask;
}

}  // namespace sluice::serve
