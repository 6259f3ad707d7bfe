// The chat format as the engine sees it. See chat.h; chat_render.cpp and chat_parse.cpp do the work.
#include "models/kimi_k3/chat.h"

#include <fmt/format.h>

namespace sluice::kimi_k3 {

namespace {

class Chat final : public ChatFormat {
 public:
  Chat(const Tokenizer& tokenizer, ControlIds control) : tokenizer_(tokenizer), control_(std::move(control)) {}

  ChatOptions defaults() const override {
    ChatOptions options;
    options.effort = "max";
    return options;
  }

  Result<std::vector<int>> render(const Conversation& conversation, const ChatOptions& options) const override {
    TRY_TAKE(const std::vector<PromptPart> parts, render_prompt(conversation, options));
    return encode_parts(parts, tokenizer_);
  }

  std::unique_ptr<ReplyParser> reply_parser(const Conversation&, const ChatOptions& options) const override {
    return make_reply_parser(tokenizer_, control_, options.thinking);
  }

  std::vector<int> stop_ids() const override { return control_.ends; }

  Result<ReplyForm> reply_form(const ChatOptions& options) const override {
    const ReplyParts parts = reply_parts(options.thinking, {}, {});
    ReplyForm form{.thinks = options.thinking, .to_answer = {}, .answer_ends = answer_ends()};
    TRY_TAKE(form.to_answer, encode_parts(parts.to_answer, tokenizer_));
    return form;
  }

  Result<CallForm> call_form(const ChatOptions& options, std::string_view tool,
                             std::span<const CallArgument> arguments) const override {
    return encode_call(reply_parts(options.thinking, tool, arguments).call, answer_ends(), tokenizer_);
  }

 private:
  // The response is closed, or the message ends at once.
  std::vector<int> answer_ends() const {
    std::vector<int> ends = control_.ends;
    ends.push_back(control_.close);
    return ends;
  }

  const Tokenizer& tokenizer_;
  ControlIds control_;
};

}  // namespace

Result<std::unique_ptr<ChatFormat>> open_chat(const Tokenizer& tokenizer) {
  ControlIds control;
  const std::pair<std::string_view, int*> wanted[] = {{"<|open|>", &control.open},
                                                      {"<|close|>", &control.close},
                                                      {"<|sep|>", &control.sep},
                                                      {"<|end_of_msg|>", &control.end_of_msg}};
  TRY(find_controls(tokenizer, "Kimi K3", wanted));
  control.ends = {control.end_of_msg};
  for (const char* spelling : {"[EOS]", "[EOT]"})
    if (const int id = tokenizer.special_id(spelling); id >= 0) control.ends.push_back(id);
  return std::make_unique<Chat>(tokenizer, std::move(control));
}

}  // namespace sluice::kimi_k3
