// Writes a conversation as the release's encoder does. Spec section 6.2. A required call needs no words: the reply is
// held to it.
//
// A request's tools and response format belong to its first system message; without one they get an empty one.
#include <fmt/format.h>

#include <algorithm>

#include "models/common/format_places.h"
#include "models/common/tools.h"
#include "models/deepseek_v4/chat.h"
#include "models/deepseek_v4/chat_texts.h"
#include "models/deepseek_v4/chat_turns.h"
#include "models/deepseek_v4/control_tokens.h"

namespace sluice::deepseek_v4 {

namespace {

constexpr FormatPlaces kPlaces = {
    .format = "DeepSeek-V4", .tools = true, .message_tools = true, .reminders = true, .tasks = true};

// A text of the format itself, in which spellings of control tokens are these tokens.
void write_fixed(std::string_view text, PromptWriter& prompt) {
  while (!text.empty()) {
    std::size_t begin = text.size();
    std::string_view found;
    for (const std::string_view token : {kThink, kEndThink, kDsml})
      if (const std::size_t at = text.find(token); at < begin) begin = at, found = token;
    prompt.text(text.substr(0, begin));
    if (!found.empty()) prompt.control(found);
    text.remove_prefix(begin + found.size());
  }
}

Result<std::string_view> effort_text(const ChatOptions& options, Revision revision) {
  if (!options.thinking || !options.effort) return std::string_view();
  const std::string& effort = *options.effort;
  if (effort == "high") return revision == Revision::later ? kThorough : std::string_view();
  if (effort == "max") return revision == Revision::later ? kExhaustive : kThorough;
  if (effort == "low" && revision == Revision::later) return std::string_view();
  return fail(ErrorKind::bad_input, fmt::format("reasoning effort '{}' is unknown to this DeepSeek-V4", effort),
              revision == Revision::later ? "it knows low, high and max" : "it knows high and max");
}

Result<std::string> response_schema(const ResponseFormat& format) {
  if (format.kind == ResponseFormat::Kind::json_object) return R"({"type": "json_object"})";
  TRY_TAKE(const std::string whole,
           restyle_json(format.schema.empty() ? format.json_schema : format.schema, kPythonDefault));
  if (!format.schema.empty()) return whole;
  if (const auto members = json_members(whole))
    if (const auto inner = std::ranges::find(*members, "schema", &JsonMember::key); inner != members->end())
      return inner->literal;
  return whole;
}

// One prompt in the making.
class Renderer {
 public:
  Renderer(const Conversation& conversation, const ChatOptions& options)
      : conversation_(conversation), options_(options), turns_(order_turns(conversation.messages)) {
    const bool asks_more = shows_request_tools() || options.response_format.kind != ResponseFormat::Kind::text;
    const bool has_system = std::ranges::find(turns_, Role::system, &Turn::role) != turns_.end();
    if (asks_more && !has_system) turns_.insert(turns_.begin(), {.role = Role::system});
    const bool has_tools =
        shows_request_tools() ||
        std::ranges::any_of(conversation.messages, [](const Message& message) { return !message.tools.empty(); });
    drops_reasoning_ = options.thinking && !options.keep_reasoning && !has_tools;
    if (drops_reasoning_) {
      const std::ptrdiff_t last = last_question(turns_);
      std::ptrdiff_t at = 0;
      std::erase_if(turns_, [&](const Turn& turn) { return at++ < last && turn.role == Role::developer; });
    }
    last_question_ = last_question(turns_);
  }

  Result<std::vector<PromptPart>> render(std::string_view effort) {
    prompt_.control(kBegin);
    prompt_.text(effort);
    for (std::size_t at = 0; at < turns_.size(); ++at) {
      TRY(write_turn(at));
      TRY(write_tail(at));
    }
    return prompt_.take();
  }

 private:
  bool shows_request_tools() const { return !conversation_.tools.empty() && options_.tool_choice != ToolChoice::none; }
  bool shows_reasoning(std::size_t at, bool from_question_on) const {
    const auto place = static_cast<std::ptrdiff_t>(at);
    return options_.thinking &&
           (!drops_reasoning_ || place > last_question_ || (from_question_on && place == last_question_));
  }

  Result<> write_turn(std::size_t at) {
    const Turn& turn = turns_[at];
    switch (turn.role) {
      case Role::user:
        prompt_.control(kUser);
        return write_blocks(turn.blocks);
      case Role::assistant:
        return write_assistant(at);
      case Role::latest_reminder:
        prompt_.control(kReminder);
        prompt_.text(turn.text);
        return {};
      default:
        if (turn.role == Role::developer) prompt_.control(kUser);
        prompt_.text(turn.text);
        return write_system_sections(turn);
    }
  }

  Result<> write_blocks(const std::vector<Block>& blocks) {
    for (std::size_t block = 0; block < blocks.size(); ++block) {
      if (block > 0) prompt_.text("\n\n");
      if (blocks[block].is_result) prompt_.text("<tool_result>");
      prompt_.text(blocks[block].text);
      if (blocks[block].is_result) prompt_.text("</tool_result>");
    }
    return {};
  }

  Result<> write_system_sections(const Turn& turn) {
    const bool is_first = turn.role == Role::system && !std::exchange(had_system_, true);
    std::vector<std::string> tools;
    if (is_first && shows_request_tools()) tools = conversation_.tools;
    if (turn.message != nullptr) tools.insert(tools.end(), turn.message->tools.begin(), turn.message->tools.end());
    if (!tools.empty()) TRY(write_tools(tools));
    if (!is_first || options_.response_format.kind == ResponseFormat::Kind::text) return {};
    auto schema = response_schema(options_.response_format);
    if (!schema) return tl::unexpected<Error>(std::move(schema.error()).within("the response format's schema"));
    prompt_.text("\n\n");
    prompt_.text(kResponseFormat);
    prompt_.text(*schema);
    return {};
  }

  Result<> write_tools(const std::vector<std::string>& tools) {
    prompt_.text("\n\n");
    write_fixed(kToolsBegin, prompt_);
    for (std::size_t number = 0; number < tools.size(); ++number) {
      auto members = function_members(tools[number]);
      if (!members) return tl::unexpected<Error>(std::move(members.error()).within(fmt::format("tool {}", number + 1)));
      prompt_.text((number == 0 ? "" : "\n") + object_of(*members));
    }
    write_fixed(kToolsEnd, prompt_);
    return {};
  }

  Result<> write_assistant(std::size_t at) {
    const Turn& turn = turns_[at];
    const bool follows_task = at > 0 && !turns_[at - 1].task.empty();
    if (shows_reasoning(at, false) && !follows_task) {
      prompt_.text(turn.message->reasoning);
      prompt_.control(kEndThink);
    }
    prompt_.text(turn.text);
    if (!turn.message->calls.empty()) write_calls(turn.message->calls);
    prompt_.control(kEnd);
    return {};
  }

  void write_calls(const std::vector<ToolCall>& calls) {
    write_fixed("\n\n<｜DSML｜tool_calls>\n", prompt_);
    for (const ToolCall& call : calls) {
      write_fixed("<｜DSML｜invoke", prompt_);
      prompt_.text(fmt::format(" name=\"{}\">\n", call.name));
      // Arguments that are no object are shown as they are.
      const auto arguments = argument_members(call);
      const std::vector<JsonMember> raw = {{"arguments", "string", call.arguments, call.arguments}};
      const std::vector<JsonMember>& members = arguments ? *arguments : raw;
      for (std::size_t member = 0; member < members.size(); ++member) {
        if (member > 0) prompt_.text("\n");
        write_fixed("<｜DSML｜parameter", prompt_);
        prompt_.text(fmt::format(" name=\"{}\" string=\"{}\">{}", members[member].key, members[member].type == "string",
                                 members[member].text));
        write_fixed("</｜DSML｜parameter>", prompt_);
      }
      write_fixed("\n</｜DSML｜invoke>\n", prompt_);
    }
    write_fixed("</｜DSML｜tool_calls>", prompt_);
  }

  // What follows a turn before the model or a reminder speaks.
  Result<> write_tail(std::size_t at) {
    const Turn& turn = turns_[at];
    const bool is_last = at + 1 == turns_.size();
    if (!is_last && turns_[at + 1].role != Role::assistant && turns_[at + 1].role != Role::latest_reminder) return {};
    if (!turn.task.empty()) {
      const auto task = std::ranges::find(kTasks, turn.task, &Task::name);
      if (task == kTasks.end())
        return fail(ErrorKind::bad_input, fmt::format("task '{}' is unknown to DeepSeek-V4", turn.task),
                    "it knows action, query, authority, domain, title and read_url");
      if (turn.task == kAction) {
        prompt_.control(kAssistant);
        prompt_.control(options_.thinking ? kThink : kEndThink);
      }
      prompt_.control(task->token);
    } else if (turn.role == Role::user || turn.role == Role::developer) {
      prompt_.control(kAssistant);
      prompt_.control(shows_reasoning(at, true) ? kThink : kEndThink);
    }
    return {};
  }

  const Conversation& conversation_;
  const ChatOptions& options_;
  std::vector<Turn> turns_;
  bool drops_reasoning_ = false, had_system_ = false;
  std::ptrdiff_t last_question_ = -1;
  PromptWriter prompt_;
};

}  // namespace

Result<std::vector<PromptPart>> render_prompt(const Conversation& conversation, const ChatOptions& options,
                                              Revision revision) {
  TRY(check_messages(conversation.messages, kPlaces));
  TRY_TAKE(const std::string_view effort, effort_text(options, revision));
  return Renderer(conversation, options).render(effort);
}

CallParts call_parts(bool thinking, std::string_view tool, std::span<const CallArgument> arguments) {
  CallParts parts;
  PromptWriter begin, end;
  if (thinking) begin.control(kEndThink);
  write_fixed("\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke", begin);
  begin.text(fmt::format(" name=\"{}\">\n{}", tool, arguments.empty() ? "\n" : ""));  // no arguments: an empty line
  parts.begin = begin.take();
  for (const CallArgument& argument : arguments) {
    PromptWriter before, after;
    write_fixed("<｜DSML｜parameter", before);
    before.text(fmt::format(" name=\"{}\" string=\"{}\">", argument.name, argument.type == "string"));
    write_fixed("</｜DSML｜parameter>\n", after);
    parts.arguments.push_back({before.take(), after.take()});
  }
  write_fixed("</｜DSML｜invoke>\n</｜DSML｜tool_calls>", end);
  parts.end = end.take();
  return parts;
}

}  // namespace sluice::deepseek_v4
