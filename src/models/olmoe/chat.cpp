// See chat.h.
#include "models/olmoe/chat.h"

#include <fmt/format.h>

#include "models/common/format_places.h"
#include "models/common/prompt_parts.h"
#include "models/common/reply_events.h"

namespace sluice::olmoe {

namespace {

constexpr FormatPlaces kPlaces = {.format = "OLMoE"};

// All of a reply is the answer.
class OlmoeReplyParser final : public ReplyParser {
 public:
  OlmoeReplyParser(const Tokenizer& tokenizer, int end_id) : tokenizer_(tokenizer), end_id_(end_id) {}

  void push(std::span<const int> ids, std::vector<ReplyEvent>& events) override {
    events_.attach(events);
    for (const int id : ids) {
      if (ended_) return;
      if (id == end_id_)
        end(true);
      else if (tokenizer_.is_shown(id))
        events_.text(ReplyEvent::Kind::content, tokenizer_.bytes(id));
    }
  }
  void finish(std::vector<ReplyEvent>& events) override {
    events_.attach(events);
    if (!ended_) end(false);
  }

 private:
  void end(bool complete) {
    events_.end_text(ReplyEvent::Kind::content);
    events_.end_turn(complete);
    ended_ = true;
  }

  const Tokenizer& tokenizer_;
  int end_id_;
  ReplyEvents events_;
  bool ended_ = false;
};

Result<> check(const Conversation& conversation, const ChatOptions& options) {
  const auto no_words = [](const char* what) {
    return fail(ErrorKind::unsupported, fmt::format("the chat format of OLMoE has no words for {}", what));
  };
  if (!conversation.tools.empty()) return no_words("tools");
  if (options.effort) return no_words("how much to think");
  if (options.tool_choice == ToolChoice::required) return no_words("tool calls");
  return check_messages(conversation.messages, kPlaces);
}

class Chat final : public ChatFormat {
 public:
  Chat(const Tokenizer& tokenizer, int end_id) : tokenizer_(tokenizer), end_id_(end_id) {}

  ChatOptions defaults() const override { return {.thinking = false}; }

  Result<std::vector<int>> render(const Conversation& conversation, const ChatOptions& options) const override {
    TRY(check(conversation, options));
    const std::string_view end = tokenizer_.bytes(end_id_);
    PromptWriter prompt;
    prompt.control(end);
    for (const Message& message : conversation.messages) {
      const bool is_answer = message.role == Role::assistant;
      prompt.text(is_answer ? "<|assistant|>\n" : message.role == Role::user ? "<|user|>\n" : "<|system|>\n");
      for (const ContentPart& part : message.content) prompt.text(part.text);
      if (is_answer) prompt.control(end);
      prompt.text("\n");
    }
    prompt.text("<|assistant|>\n");
    return encode_parts(prompt.take(), tokenizer_);
  }

  std::unique_ptr<ReplyParser> reply_parser(const Conversation&, const ChatOptions&) const override {
    return std::make_unique<OlmoeReplyParser>(tokenizer_, end_id_);
  }

  std::vector<int> stop_ids() const override { return {end_id_}; }

  Result<ReplyForm> reply_form(const ChatOptions&) const override { return ReplyForm{.answer_ends = {end_id_}}; }

 private:
  const Tokenizer& tokenizer_;
  int end_id_;
};

}  // namespace

Result<std::unique_ptr<ChatFormat>> open_chat(const Tokenizer& tokenizer, int end_id) {
  const bool exists = end_id >= 0 && end_id < tokenizer.vocab_size();
  if (!exists || tokenizer.special_id(tokenizer.bytes(end_id)) != end_id)
    return fail(
        ErrorKind::bad_input,
        fmt::format("id {}, with which answers end as config.json says, is no added token of the tokenizer", end_id),
        "the two files are of different models: fetch both again");
  return std::make_unique<Chat>(tokenizer, end_id);
}

}  // namespace sluice::olmoe
