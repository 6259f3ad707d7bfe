// Writing a response: items of reasoning, text and calls, whole or as named events. See responses.h.
#include <fmt/format.h>

#include "serve/responses.h"

namespace sluice::serve {

namespace {

class ResponseWriter final : public ReplyWriter {
 public:
  ResponseWriter(ReplyNames names, ResponseEcho echo, bool stream)
      : names_(std::move(names)), echo_(std::move(echo)), stream_(stream) {}

  std::string piece(std::size_t, Piece piece) override {
    std::string stream;
    for (const ReplyEvent& event : piece.events) stream += take(event);
    return stream;
  }
  std::string choice_end(std::size_t, const ChoiceEnd& end) override {
    std::string stream = close_item(end.finish == Finish::length ? "incomplete" : "completed");
    finish_ = end.finish;
    return stream;
  }
  std::string stream_begin() override {
    const Json response = response_json("in_progress", nullptr);
    std::string stream = event("response.created", {{"response", response}});
    return stream += event("response.in_progress", {{"response", response}});
  }
  std::string stream_end(const Usage& usage) override {
    return event(finish_ == Finish::length ? "response.incomplete" : "response.completed",
                 {{"response", response_json(status(), usage_of(usage))}});
  }
  std::string stream_error(const ApiError& error) override {
    const Json inner = to_json(error).at("error");
    return event("error", {{"code", inner.at("code")}, {"message", error.message}, {"param", inner.at("param")}});
  }
  std::string whole(const Usage& usage) override { return dump(response_json(status(), usage_of(usage))); }

 private:
  const char* status() const { return finish_ == Finish::length ? "incomplete" : "completed"; }

  // Events are numbered in the order of the calls: one call a statement. Nothing where the answer is told whole.
  std::string event(const char* type, Json fields) {
    if (!stream_) return {};
    Json all = {{"type", type}, {"sequence_number", events_++}};
    all.update(fields);
    return fmt::format("event: {}\n{}", type, sse_data(dump(all)));
  }

  Json response_json(const char* status, Json usage) const {
    Json response = {{"id", names_.id},       {"object", "response"}, {"created_at", names_.created},
                     {"status", status},      {"error", nullptr},     {"incomplete_details", nullptr},
                     {"model", names_.model}, {"output", items_}};
    if (response["status"] == "incomplete") response["incomplete_details"] = {{"reason", "max_output_tokens"}};
    response.update(echo_.fields);
    response["usage"] = std::move(usage);
    return response;
  }
  static Json usage_of(const Usage& usage) {
    return {{"input_tokens", usage.prompt_tokens},
            {"input_tokens_details", {{"cached_tokens", usage.cached_tokens}}},
            {"output_tokens", usage.completion_tokens},
            {"output_tokens_details", {{"reasoning_tokens", 0}}},
            {"total_tokens", usage.prompt_tokens + usage.completion_tokens}};
  }

  // Items are named after the response and their place in it.
  std::string item_id(const char* prefix) const {
    return fmt::format("{}_{}_{}", prefix, names_.id.substr(names_.id.find('_') + 1), items_.size());
  }
  Json place() const { return {{"item_id", items_.back().at("id")}, {"output_index", items_.size() - 1}}; }
  Json in_content() const {
    Json fields = place();
    fields["content_index"] = 0;
    return fields;
  }
  static Json with(Json fields, const char* name, Json value) {
    fields[name] = std::move(value);
    return fields;
  }

  std::string open_item(Json item) {
    std::string stream = close_item("completed");
    items_.push_back(std::move(item));
    open_ = true;
    return stream + event("response.output_item.added", {{"output_index", items_.size() - 1}, {"item", items_.back()}});
  }

  // More text of an item of this type, which begins if another one is open.
  std::string say(const char* type, const std::string& text) {
    const bool is_message = type == std::string_view("message");
    std::string stream;
    if (!open_ || items_.back().at("type") != type) {
      Json item = {{"id", item_id(is_message ? "msg" : "rs")}, {"type", type}, {"status", "in_progress"}};
      if (is_message) item["role"] = "assistant";
      if (!is_message) item["summary"] = Json::array();
      item["content"] = Json::array();
      stream = open_item(std::move(item));
      Json part = {{"type", is_message ? "output_text" : "reasoning_text"}, {"text", ""}};
      if (is_message) part["annotations"] = Json::array();
      if (is_message) part["logprobs"] = Json::array();
      items_.back()["content"].push_back(part);
      stream += event("response.content_part.added", with(in_content(), "part", std::move(part)));
    }
    items_.back()["content"][0]["text"].get_ref<std::string&>() += text;
    Json fields = with(in_content(), "delta", text);
    if (is_message) fields["logprobs"] = Json::array();
    return stream +
           event(is_message ? "response.output_text.delta" : "response.reasoning_text.delta", std::move(fields));
  }

  std::string close_item(const char* status) {
    if (!std::exchange(open_, false)) return {};
    Json& item = items_.back();
    item["status"] = status;
    std::string stream;
    if (item.at("type") == "function_call") {
      stream = event("response.function_call_arguments.done",
                     with(with(place(), "name", item.at("name")), "arguments", item.at("arguments")));
    } else {
      const bool is_message = item.at("type") == "message";
      const Json& part = item.at("content").at(0);
      Json fields = with(in_content(), "text", part.at("text"));
      if (is_message) fields["logprobs"] = Json::array();
      stream = event(is_message ? "response.output_text.done" : "response.reasoning_text.done", std::move(fields));
      stream += event("response.content_part.done", with(in_content(), "part", part));
    }
    return stream + event("response.output_item.done", {{"output_index", items_.size() - 1}, {"item", item}});
  }

  std::string more_arguments(const ReplyEvent& one) {
    return event("response.function_call_arguments.delta", with(place(), "delta", arguments_.more(one)));
  }

  std::string take(const ReplyEvent& one) {
    switch (one.kind) {
      case ReplyEvent::Kind::content:
        return say("message", one.text);
      case ReplyEvent::Kind::reasoning:
        return say("reasoning", one.text);
      case ReplyEvent::Kind::call_begin: {
        const std::string id = item_id("fc");
        return open_item({{"id", id},
                          {"type", "function_call"},
                          {"status", "in_progress"},
                          {"call_id", "call" + id.substr(2)},
                          {"name", one.text},
                          {"arguments", ""}});
      }
      case ReplyEvent::Kind::call_end: {
        if (!open_ || items_.back().at("type") != "function_call") return {};
        items_.back()["arguments"] = one.text;
        std::string stream = more_arguments(one);
        return stream += close_item("completed");
      }
      case ReplyEvent::Kind::argument:
        return open_ && items_.back().at("type") == "function_call" ? more_arguments(one) : std::string();
      case ReplyEvent::Kind::turn_end:
        break;
    }
    return {};
  }

  ReplyNames names_;
  ResponseEcho echo_;
  bool stream_, open_ = false;
  Json items_ = Json::array();
  CallArguments arguments_;  // of the open item
  Finish finish_ = Finish::stop;
  std::uint64_t events_ = 0;
};

}  // namespace

std::unique_ptr<ReplyWriter> response_writer(ReplyNames names, ResponseEcho echo, bool stream) {
  return std::make_unique<ResponseWriter>(std::move(names), std::move(echo), stream);
}

}  // namespace sluice::serve
