// The chat format as the engine sees it. See chat.h; chat_render.cpp and chat_parse.cpp do the work.
#include "models/deepseek_v4/chat.h"

#include <fmt/format.h>

#include "base/text_file.h"
#include "models/deepseek_v4/control_tokens.h"

namespace sluice::deepseek_v4 {

namespace {

class Chat final : public ChatFormat {
 public:
  Chat(const Tokenizer& tokenizer, ControlIds control, Revision revision)
      : tokenizer_(tokenizer), control_(std::move(control)), revision_(revision) {}

  ChatOptions defaults() const override { return {}; }

  Result<std::vector<int>> render(const Conversation& conversation, const ChatOptions& options) const override {
    TRY_TAKE(const std::vector<PromptPart> parts, render_prompt(conversation, options, revision_));
    return encode_parts(parts, tokenizer_);  // refuses tasks, which only some releases have a token for
  }

  std::unique_ptr<ReplyParser> reply_parser(const Conversation& conversation,
                                            const ChatOptions& options) const override {
    const bool has_task = !conversation.messages.empty() && !conversation.messages.back().task.empty();
    return make_reply_parser(tokenizer_, control_, options.thinking && !has_task);
  }

  std::vector<int> stop_ids() const override { return control_.ends; }

  Result<ReplyForm> reply_form(const ChatOptions& options) const override {
    return bare_answer(options.thinking, control_.end_think, control_.ends);
  }

  Result<CallForm> call_form(const ChatOptions& options, std::string_view tool,
                             std::span<const CallArgument> arguments) const override {
    return encode_call(call_parts(options.thinking, tool, arguments), control_.ends, tokenizer_);
  }

 private:
  const Tokenizer& tokenizer_;
  ControlIds control_;
  Revision revision_;
};

}  // namespace

Revision revision_of(const std::string& directory) {
  const std::string text = read_text_file(directory + "/encoding/encoding_dsv4.py").value_or("");
  return text.find("REASONING_EFFORT_PROMPTS") == std::string::npos ? Revision::first : Revision::later;
}

Result<std::unique_ptr<ChatFormat>> open_chat(const Tokenizer& tokenizer, const std::string& directory) {
  ControlIds control;
  control.ends.resize(2);
  int prompt_only = 0;
  const std::pair<std::string_view, int*> wanted[] = {
      {kBegin, &prompt_only}, {kAssistant, &prompt_only}, {kThink, &control.think}, {kEndThink, &control.end_think},
      {kDsml, &control.dsml}, {kEnd, &control.ends[0]},   {kUser, &control.ends[1]}};
  TRY(find_controls(tokenizer, "DeepSeek-V4", wanted));
  return std::make_unique<Chat>(tokenizer, std::move(control), revision_of(directory));
}

}  // namespace sluice::deepseek_v4
