// Writing Anthropic's replies: blocks of thinking, text and tool calls, whole or as named events. See anthropic.h.
#include <fmt/format.h>

#include "serve/anthropic.h"

namespace sluice::serve {

namespace {

const char* anthropic_error_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
      return "overloaded_error";
    default:
      return status >= 500 ? "api_error" : "invalid_request_error";
  }
}

Json error_json(const ApiError& error) {
  return {{"type", "error"}, {"error", {{"type", anthropic_error_type(error.status)}, {"message", error.message}}}};
}

class MessagesWriter final : public ReplyWriter {
 public:
  MessagesWriter(ReplyNames names, std::size_t prompt_tokens, bool stream)
      : names_(std::move(names)), prompt_tokens_(prompt_tokens), stream_(stream) {}

  std::string piece(std::size_t, Piece piece) override {
    std::string stream;
    for (const ReplyEvent& event : piece.events) stream += take(event);
    return stream;
  }

  std::string choice_end(std::size_t, const ChoiceEnd& end) override {
    end_ = end;
    return close_block();
  }

  std::string stream_begin() override {
    Json message = head();
    message["content"] = Json::array();
    message["stop_reason"] = nullptr;
    message["stop_sequence"] = nullptr;
    message["usage"] = {{"input_tokens", prompt_tokens_}, {"output_tokens", 0}};
    return event("message_start", {{"message", std::move(message)}});
  }

  std::string stream_end(const Usage& usage) override {
    return event("message_delta", {{"delta", {{"stop_reason", stop_reason()}, {"stop_sequence", stop_sequence()}}},
                                   {"usage", usage_of(usage)}}) +
           event("message_stop", Json::object());
  }

  std::string stream_error(const ApiError& error) override {
    return fmt::format("event: error\n{}", sse_data(dump(error_json(error))));
  }
  HttpReply refusal(const ApiError& error) override { return to_messages_reply(error); }

  std::string whole(const Usage& usage) override {
    Json message = head();
    message["content"] = blocks_;
    message["stop_reason"] = stop_reason();
    message["stop_sequence"] = stop_sequence();
    message["usage"] = usage_of(usage);
    return dump(message);
  }

 private:
  // Nothing where the answer is told whole.
  std::string event(const char* type, Json fields) const {
    if (!stream_) return {};
    Json all = {{"type", type}};
    all.update(fields);
    return fmt::format("event: {}\n{}", type, sse_data(dump(all)));
  }
  Json head() const { return {{"id", names_.id}, {"type", "message"}, {"role", "assistant"}, {"model", names_.model}}; }
  Json usage_of(const Usage& usage) const {
    return {{"input_tokens", usage.prompt_tokens - usage.cached_tokens},
            {"output_tokens", usage.completion_tokens},
            {"cache_read_input_tokens", usage.cached_tokens}};
  }
  const char* stop_reason() const {
    if (end_.finish == Finish::length) return "max_tokens";
    if (!end_.stop_string.empty()) return "stop_sequence";
    return called_ ? "tool_use" : "end_turn";
  }
  Json stop_sequence() const { return end_.stop_string.empty() ? Json(nullptr) : Json(end_.stop_string); }

  std::string open_block(Json block) {
    std::string stream = close_block();
    stream += event("content_block_start", {{"index", blocks_.size()}, {"content_block", block}});
    blocks_.push_back(std::move(block));
    open_ = true;
    return stream;
  }
  std::string close_block() {
    if (!open_) return {};
    open_ = false;
    return event("content_block_stop", {{"index", blocks_.size() - 1}});
  }
  // More text for a block of this type, which begins if another one is open.
  std::string say(const char* type, const char* field, const std::string& text) {
    std::string stream;
    if (!open_ || blocks_.back().at("type") != type) {
      Json block = {{"type", type}, {field, ""}};
      if (block["type"] == "thinking") block["signature"] = "";
      stream = open_block(std::move(block));
    }
    if (!stream_) blocks_.back()[field].get_ref<std::string&>() += text;
    const Json delta = {{"type", std::string(type) + "_delta"}, {field, text}};
    return stream + event("content_block_delta", {{"index", blocks_.size() - 1}, {"delta", delta}});
  }

  std::string more_input(const ReplyEvent& event_of_reply) {
    const Json delta = {{"type", "input_json_delta"}, {"partial_json", arguments_.more(event_of_reply)}};
    return event("content_block_delta", {{"index", blocks_.size() - 1}, {"delta", delta}});
  }

  std::string take(const ReplyEvent& event_of_reply) {
    switch (event_of_reply.kind) {
      case ReplyEvent::Kind::content:
        return say("text", "text", event_of_reply.text);
      case ReplyEvent::Kind::reasoning:
        return say("thinking", "thinking", event_of_reply.text);
      case ReplyEvent::Kind::call_begin:
        called_ = true;
        return open_block(
            {{"type", "tool_use"},
             {"id", fmt::format("toolu_{}_{}", names_.id.substr(names_.id.find('_') + 1), event_of_reply.call)},
             {"name", event_of_reply.text},
             {"input", Json::object()}});
      case ReplyEvent::Kind::call_end: {
        if (!open_ || blocks_.back().at("type") != "tool_use") return {};
        Json input = Json::parse(event_of_reply.text, nullptr, false);
        if (!stream_) blocks_.back()["input"] = input.is_object() ? std::move(input) : Json::object();
        return more_input(event_of_reply) + close_block();
      }
      case ReplyEvent::Kind::argument:
        return open_ && blocks_.back().at("type") == "tool_use" ? more_input(event_of_reply) : std::string();
      case ReplyEvent::Kind::turn_end:
        break;
    }
    return {};
  }

  ReplyNames names_;
  std::size_t prompt_tokens_;
  bool stream_, open_ = false, called_ = false;
  Json blocks_ = Json::array();
  CallArguments arguments_;  // of the open block
  ChoiceEnd end_;
};

}  // namespace

std::unique_ptr<ReplyWriter> messages_writer(ReplyNames names, std::size_t prompt_tokens, bool stream) {
  return std::make_unique<MessagesWriter>(std::move(names), prompt_tokens, stream);
}

HttpReply to_messages_reply(const ApiError& error) {
  HttpReply reply = to_reply(error);
  reply.body = dump(error_json(error));
  return reply;
}

}  // namespace sluice::serve
