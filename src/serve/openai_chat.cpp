// See openai_chat.h.
#include "serve/openai_chat.h"

#include <fmt/format.h>

#include <climits>

#include "serve/openai_messages.h"

namespace sluice::serve {

namespace {

void read_thinking(const Body& body, ChatOptions& options) {
  if (body.has("reasoning_effort")) {
    const std::string effort = body.text("reasoning_effort");
    if (effort == "none")
      options.thinking = false;
    else
      options.effort = effort;
  }
  const Body words = body.object("chat_template_kwargs");
  for (const char* name : {"thinking", "enable_thinking"}) options.thinking = words.flag_or(name, options.thinking);
  const Body thinking = body.object("thinking");
  const std::string type = thinking.text_or("type", {});
  if (type == "enabled" || type == "disabled")
    options.thinking = type == "enabled";
  else if (!type.empty())
    thinking.wrong("type", "must be enabled or disabled");
}

}  // namespace

ApiResult<ChatAsk> read_chat(std::string_view raw, const ChatOptions& defaults, const SamplingParams& sampling) {
  auto json = parse_body(raw);
  if (!json) return tl::unexpected<ApiError>(std::move(json.error()));
  const Body body(*json);
  ChatAsk ask;
  ask.conversation = read_conversation(body, raw);
  ask.generation = read_generation(body, sampling);
  for (const char* name : {"max_tokens", "max_completion_tokens"})
    if (body.has(name)) ask.generation.max_tokens = static_cast<int>(body.integer_or(name, 1, 1, INT_MAX));
  if (body.flag_or("logprobs", false))
    ask.generation.top_logprobs = static_cast<int>(body.integer_or("top_logprobs", 0, 0, kMostTopLogprobs));
  else if (body.integer_or("top_logprobs", 0, 0, kMostTopLogprobs) > 0)
    body.wrong("top_logprobs", "needs logprobs to be true");
  ask.options = defaults;
  read_tool_choice(body, true, ask);
  ask.options.response_format = read_form(body, raw, ask.generation);
  read_thinking(body, ask.options);
  if (const auto& fault = body.fault()) return tl::unexpected<ApiError>(*fault);
  return ask;
}

namespace {

Json bytes_json(std::string_view bytes) {
  Json list = Json::array();
  for (const char byte : bytes) list.push_back(static_cast<unsigned char>(byte));
  return list;
}

Json logprob_json(std::string_view bytes, double logprob) {
  return {{"token", as_text(bytes)}, {"logprob", std::max(logprob, -9999.0)}, {"bytes", bytes_json(bytes)}};
}

Json chat_logprobs(const std::vector<TokenText>& tokens) {
  Json content = Json::array();
  for (const TokenText& token : tokens) {
    Json one = logprob_json(token.bytes, token.logprob.value_or(0));
    one["top_logprobs"] = Json::array();
    for (const auto& [bytes, logprob] : token.top) one["top_logprobs"].push_back(logprob_json(bytes, logprob));
    content.push_back(std::move(one));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

// What one choice has said so far.
struct ChatChoice {
  std::string content, reasoning;
  std::vector<ToolCall> calls;
  std::vector<TokenText> tokens;  // in a stream: of text that is not certain yet
  CallArguments arguments;        // of the call in hand, in a stream
  Finish finish = Finish::length;
};

class ChatWriter final : public ReplyWriter {
 public:
  ChatWriter(ReplyNames names, const ChatReplyOptions& options)
      : names_(std::move(names)), options_(options), choices_(options.choices) {}

  std::string piece(std::size_t index, Piece piece) override {
    ChatChoice& choice = choices_[index];
    choice.tokens.insert(choice.tokens.end(), piece.tokens.begin(), piece.tokens.end());
    std::string stream;
    for (const ReplyEvent& event : piece.events) {
      Json delta = take(event, choice, index);
      if (options_.stream && !delta.empty()) stream += chunk(index, std::move(delta), nullptr);
    }
    return stream;
  }

  std::string choice_end(std::size_t index, const ChoiceEnd& end) override {
    choices_[index].finish = end.finish;
    return options_.stream ? chunk(index, Json::object(), finish_reason(choices_[index])) : std::string();
  }

  std::string stream_begin() override {
    std::string stream;
    for (std::size_t index = 0; index < choices_.size(); ++index)
      stream += chunk(index, {{"role", "assistant"}, {"content", ""}}, nullptr);
    return stream;
  }

  std::string stream_end(const Usage& usage) override {
    std::string stream;
    if (options_.include_usage) {
      Json last = head("chat.completion.chunk");
      last["choices"] = Json::array();
      last["usage"] = usage_json(usage);
      stream = sse_data(dump(last));
    }
    return stream + sse_data("[DONE]");
  }

  std::string stream_error(const ApiError& error) override { return sse_data(dump(to_json(error))); }

  std::string whole(const Usage& usage) override {
    Json body = head("chat.completion");
    body["choices"] = Json::array();
    for (std::size_t index = 0; index < choices_.size(); ++index)
      body["choices"].push_back(choice_json(choices_[index], index));
    body["usage"] = usage_json(usage);
    return dump(body);
  }

 private:
  Json head(const char* object) const {
    return {{"id", names_.id}, {"object", object}, {"created", names_.created}, {"model", names_.model}};
  }

  // Calls are named after the reply, so that they differ between the turns of a conversation.
  std::string call_id(std::size_t choice, int call) const {
    const std::string name = names_.id.substr(names_.id.find('-') + 1);
    return fmt::format("call_{}_{}_{}", name, choice, call);
  }

  // Remembers the event; the delta that says it, or an empty object if nothing is to be said.
  Json take(const ReplyEvent& event, ChatChoice& choice, std::size_t index) const {
    switch (event.kind) {
      case ReplyEvent::Kind::content:
        if (!options_.stream) choice.content += event.text;
        return {{"content", event.text}};
      case ReplyEvent::Kind::reasoning:
        if (!options_.stream) choice.reasoning += event.text;
        return {{"reasoning_content", event.text}};
      case ReplyEvent::Kind::call_begin: {
        choice.calls.push_back({.id = call_id(index, event.call), .name = event.text});
        Json call = call_json(choice.calls.back());
        call["index"] = choice.calls.size() - 1;
        return {{"tool_calls", Json::array({std::move(call)})}};
      }
      case ReplyEvent::Kind::call_end: {
        if (choice.calls.empty()) return Json::object();
        if (!options_.stream) choice.calls.back().arguments = event.text;
        return arguments_delta(event, choice);
      }
      case ReplyEvent::Kind::argument:
        if (!choice.calls.empty()) return arguments_delta(event, choice);
        break;
      case ReplyEvent::Kind::turn_end:
        break;
    }
    return Json::object();
  }

  static Json arguments_delta(const ReplyEvent& event, ChatChoice& choice) {
    const Json call = {{"index", choice.calls.size() - 1}, {"function", {{"arguments", choice.arguments.more(event)}}}};
    return {{"tool_calls", Json::array({call})}};
  }

  static Json call_json(const ToolCall& call) {
    return {{"id", call.id}, {"type", "function"}, {"function", {{"name", call.name}, {"arguments", call.arguments}}}};
  }

  static const char* finish_reason(const ChatChoice& choice) {
    if (choice.finish == Finish::length) return "length";
    return choice.calls.empty() ? "stop" : "tool_calls";
  }

  std::string chunk(std::size_t index, Json delta, const char* finish) {
    Json choice = {{"index", index}, {"delta", std::move(delta)}, {"logprobs", nullptr}, {"finish_reason", nullptr}};
    std::vector<TokenText>& tokens = choices_[index].tokens;
    if (options_.logprobs && !tokens.empty()) choice["logprobs"] = chat_logprobs(std::exchange(tokens, {}));
    if (finish != nullptr) choice["finish_reason"] = finish;
    Json one = head("chat.completion.chunk");
    one["choices"] = Json::array({std::move(choice)});
    return sse_data(dump(one));
  }

  Json choice_json(const ChatChoice& choice, std::size_t index) const {
    Json message = {{"role", "assistant"}, {"content", choice.content}, {"refusal", nullptr}};
    if (choice.content.empty() && !choice.calls.empty()) message["content"] = nullptr;
    if (!choice.reasoning.empty()) message["reasoning_content"] = choice.reasoning;
    for (const ToolCall& call : choice.calls) message["tool_calls"].push_back(call_json(call));
    return {{"index", index},
            {"message", std::move(message)},
            {"logprobs", options_.logprobs ? chat_logprobs(choice.tokens) : Json(nullptr)},
            {"finish_reason", finish_reason(choice)}};
  }

  ReplyNames names_;
  ChatReplyOptions options_;
  std::vector<ChatChoice> choices_;
};

}  // namespace

std::unique_ptr<ReplyWriter> chat_writer(ReplyNames names, const ChatReplyOptions& options) {
  return std::make_unique<ChatWriter>(std::move(names), options);
}

}  // namespace sluice::serve
