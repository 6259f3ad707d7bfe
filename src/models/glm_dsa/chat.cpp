// The chat format as the engine sees it. See chat.h; chat_render.cpp and chat_parse.cpp do the work.
#include "models/glm_dsa/chat.h"

#include <fmt/format.h>

#include "base/text_file.h"
#include "models/common/reply_forms.h"

namespace sluice::glm_dsa {

namespace {

class Chat final : public ChatFormat {
 public:
  Chat(const Tokenizer& tokenizer, ControlIds control) : tokenizer_(tokenizer), control_(std::move(control)) {}

  ChatOptions defaults() const override { return {}; }

  Result<std::vector<int>> render(const Conversation& conversation, const ChatOptions& options) const override {
    TRY_TAKE(const std::vector<PromptPart> parts, render_prompt(conversation, options));
    return encode_parts(parts, tokenizer_);
  }

  std::unique_ptr<ReplyParser> reply_parser(const Conversation& conversation,
                                            const ChatOptions& options) const override {
    return make_reply_parser(tokenizer_, control_, conversation.tools, options.thinking);
  }

  std::vector<int> stop_ids() const override { return control_.ends; }

  Result<ReplyForm> reply_form(const ChatOptions& options) const override {
    return bare_answer(options.thinking, control_.end_think, control_.ends);
  }

  Result<CallForm> call_form(const ChatOptions& options, std::string_view tool,
                             std::span<const CallArgument> arguments) const override {
    CallForm form{.end = {control_.end_call}, .ends = control_.ends};
    if (options.thinking) form.begin = {control_.end_think};
    form.begin.push_back(control_.call);
    TRY(add_text(tool, form.begin));
    for (const CallArgument& argument : arguments) {
      CallForm::Argument& made = form.arguments.emplace_back();
      made.before = {control_.key};
      TRY(add_text(argument.name, made.before));
      made.before.push_back(control_.end_key);
      made.before.push_back(control_.value);
      made.after = {control_.end_value};
    }
    return form;
  }

 private:
  Result<> add_text(std::string_view text, std::vector<int>& ids) const {
    TRY_TAKE(const std::vector<int> encoded, tokenizer_.encode(text, SpecialSpelling::text));
    ids.insert(ids.end(), encoded.begin(), encoded.end());
    return {};
  }

  const Tokenizer& tokenizer_;
  ControlIds control_;
};

// Of the family's templates, only that of 5.2 knows both words.
Result<> check_template(const std::string& directory) {
  const std::string path = directory + "/chat_template.jinja";
  const Result<std::string> text = read_text_file(path);
  if (!text) return {};
  for (const char* word : {"Reasoning Effort", "enable_thinking"})
    if (text->find(word) == std::string::npos)
      return fail(ErrorKind::unsupported, fmt::format("{} is not the template of GLM-5.2: it has no '{}'", path, word),
                  "sluice knows the chat format of GLM-5.2 alone; raw prompts work");
  return {};
}

}  // namespace

Result<std::unique_ptr<ChatFormat>> open_chat(const Tokenizer& tokenizer, const std::string& directory) {
  TRY(check_template(directory));
  ControlIds control;
  control.ends.resize(5);
  int prefix = 0;
  const std::pair<std::string_view, int*> wanted[] = {
      {"[gMASK]", &prefix},
      {"<sop>", &prefix},
      {"<tool_response>", &prefix},
      {"</tool_response>", &prefix},
      {"<think>", &control.think},
      {"</think>", &control.end_think},
      {"<tool_call>", &control.call},
      {"</tool_call>", &control.end_call},
      {"<arg_key>", &control.key},
      {"</arg_key>", &control.end_key},
      {"<arg_value>", &control.value},
      {"</arg_value>", &control.end_value},
      {"<|endoftext|>", &control.ends[0]},
      {"<|user|>", &control.ends[1]},
      {"<|observation|>", &control.ends[2]},
      {"<|system|>", &control.ends[3]},
      {"<|assistant|>", &control.ends[4]},
  };
  TRY(find_controls(tokenizer, "GLM-5.2", wanted));
  return std::make_unique<Chat>(tokenizer, std::move(control));
}

}  // namespace sluice::glm_dsa
