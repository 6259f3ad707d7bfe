// See chat_commands.h.
#include "cli/chat_commands.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/console.h"
#include "cli/conversation_file.h"

namespace sluice::cli {

namespace {

struct Context {
  std::string argument;
  ChatSession& session;
  ConversationLog& log;
};

struct Command {
  const char *name, *argument, *help;
  Result<AfterCommand> (*run)(const Context& context);
};

bool same(const Message& a, const Message& b) {
  const auto text = [](const Message& message) {
    std::string all;
    for (const ContentPart& part : message.content) all += part.text;
    return all;
  };
  return a.role == b.role && a.reasoning == b.reasoning && a.calls.size() == b.calls.size() && text(a) == text(b);
}

// The sentence and how to go on, as main reports errors.
Result<AfterCommand> done(const Result<>& outcome) {
  if (!outcome) return tl::unexpected<Error>(outcome.error());
  return AfterCommand::go_on;
}

Result<AfterCommand> help(const Context&);

Result<AfterCommand> set_system(const Context& context) {
  if (context.argument.empty()) {
    const std::string text = context.session.system();
    note(text.empty() ? "there is no system message; /system TEXT sets one" : "system: " + text);
    return AfterCommand::go_on;
  }
  context.session.set_system(context.argument == "off" ? "" : context.argument);
  return AfterCommand::go_on;
}

Result<AfterCommand> think(const Context& context) {
  if (context.argument.empty())
    return fail(ErrorKind::bad_input, "/think needs a word", "off, on, or how much to think in the model's own words");
  context.session.set_thinking(context.argument);
  return AfterCommand::go_on;
}

Result<AfterCommand> regenerate(const Context& context) { return done(context.session.regenerate()); }
Result<AfterCommand> undo(const Context& context) { return done(context.session.undo()); }

Result<AfterCommand> begin_anew(const Context& context) {
  const std::string system = context.session.system();
  context.session.start_from({});
  context.session.set_system(system);
  if (!context.log.path().empty())
    note(fmt::format("{} keeps the conversation until here; /save FILE keeps the new one", context.log.path()));
  context.log.leave();
  return AfterCommand::go_on;
}

Result<AfterCommand> save(const Context& context) {
  if (context.argument.empty()) return fail(ErrorKind::bad_input, "/save needs a file", "for example /save talk.jsonl");
  TRY(write_conversation_file(context.argument, context.session.messages()));
  note(fmt::format("{} messages are in {}", context.session.messages().size(), context.argument));
  return AfterCommand::go_on;
}

Result<AfterCommand> load(const Context& context) {
  if (context.argument.empty()) return fail(ErrorKind::bad_input, "/load needs a file", "one that /save wrote");
  TRY_TAKE(std::vector<Message> messages, read_conversation_file(context.argument));
  note(fmt::format("the conversation goes on from the {} messages of {}", messages.size(), context.argument));
  context.session.start_from(std::move(messages));
  context.log.leave();
  return AfterCommand::go_on;
}

Result<AfterCommand> stats(const Context& context) {
  const auto& last = context.session.last();
  note(last ? to_text(*last, context.session.engine()) : plan_line(context.session.engine().plan()));
  return AfterCommand::go_on;
}

Result<AfterCommand> quit(const Context&) { return AfterCommand::quit; }

constexpr Command kCommands[] = {
    {"/help", "", "this list", help},
    {"/regen", "", "answer the last message again, differently (greedy answers stay the same)", regenerate},
    {"/undo", "", "take the last message and its answer back", undo},
    {"/new", "", "begin a new conversation; the system message stays", begin_anew},
    {"/system", "[TEXT]", "show or set the system message; off removes it", set_system},
    {"/think", "WORD", "off, on, or how much to think, in the model's own words", think},
    {"/save", "FILE", "write the conversation, one message a line", save},
    {"/load", "FILE", "go on from a conversation that was saved", load},
    {"/stats", "", "speed, memory and reads of the last answer", stats},
    {"/quit", "", "end; so does Ctrl-D", quit},
};

Result<AfterCommand> help(const Context&) {
  for (const Command& command : kCommands)
    note(fmt::format("  {:<16}{}", fmt::format("{} {}", command.name, command.argument), command.help));
  note("  Ctrl-C stops an answer. Lines that are pasted together are one message; // begins one with a slash.");
  return AfterCommand::go_on;
}

std::string known_commands() {
  std::string names;
  for (const Command& command : kCommands) names += (names.empty() ? "" : ", ") + std::string(command.name);
  return names;
}

}  // namespace

Result<> ConversationLog::update(const ChatSession& session) {
  const std::vector<Message>& now = session.messages();
  if (path_.empty()) return {};
  const auto [first_new, first_kept] = std::ranges::mismatch(now, kept_, same);
  const bool only_longer = first_kept == kept_.end();
  const auto known = static_cast<std::size_t>(first_new - now.begin());
  TRY(only_longer ? append_to_conversation_file(path_, std::span(now).subspan(known))
                  : write_conversation_file(path_, now));
  kept_ = now;
  return {};
}

Result<AfterCommand> run_command(const std::string& line, ChatSession& session, ConversationLog& log) {
  const std::size_t end = std::min(line.find_first_of(" \t\n"), line.size());
  const std::string name = line.substr(0, end);
  const std::size_t begin = line.find_first_not_of(" \t\n", end);
  const std::string argument =
      begin == std::string::npos ? "" : line.substr(begin, line.find_last_not_of(" \t\n") + 1 - begin);
  for (const Command& command : kCommands)
    if (name == command.name) return command.run({argument, session, log});
  return fail(ErrorKind::bad_input, fmt::format("{} is no command", name), "known: " + known_commands());
}

}  // namespace sluice::cli
