// sluice chat MODEL: a conversation in the terminal, or through a pipe: a message a line.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "cli/chat_commands.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/conversation_file.h"
#include "cli/line_reader.h"
#include "cli/model_flags.h"
#include "cli/open_engine.h"
#include "cli/sampling_flags.h"
#include "cli/usage_flag.h"
#include "engine/generation_config.h"
#include "engine/idle_work.h"

namespace sluice::cli {

namespace {

struct ChatFlags {
  ModelFlags model;
  UsageFlag usage;
  SamplingFlags sampling;
  std::string system, history, think;
  int max_tokens = 0;
};

constexpr std::uint64_t kOverheadBytes = 1 << 20;  // the conversation's text and its JSON, the line editor

// Errors that say nothing against the program or the checkpoint: the conversation goes on.
bool can_go_on(const Error& error) {
  return error.kind == ErrorKind::bad_input || error.kind == ErrorKind::unsupported;
}

void tell(const Error& error) {
  warn(error.what);
  if (!error.hint.empty()) note("  " + error.hint);
}

Result<> take_turn(const std::string& text, ChatSession& session, ConversationLog& log, AfterCommand& after) {
  Result<> outcome;
  if (text.starts_with('/') && !text.starts_with("//")) {
    const Result<AfterCommand> ran = run_command(text, session, log);
    if (ran)
      after = *ran;
    else
      outcome = tl::unexpected<Error>(ran.error());
  } else {
    outcome = session.say(text.starts_with("//") ? text.substr(1) : text);
  }
  if (!outcome && !can_go_on(outcome.error())) return outcome;
  if (!outcome) tell(outcome.error());
  return log.update(session);
}

Result<> talk(Engine& engine, ChatSession& session, ConversationLog& log, LineReader& reader) {
  AfterCommand after = AfterCommand::go_on;
  bool told_how_to_leave = false;
  while (after == AfterCommand::go_on) {
    const InputLine line = [&] {
      const IdleWork meanwhile(engine);
      return reader.next();
    }();
    if (line.kind == InputLine::Kind::interrupted && !std::exchange(told_how_to_leave, true))
      note("(Ctrl-D or /quit ends)");
    if (line.kind == InputLine::Kind::end) break;
    if (line.text.find_first_not_of(" \t\n") == std::string::npos) continue;
    TRY(take_turn(line.text, session, log, after));
    if (!interrupt_flag().requested()) {
      if (reader.interactive()) note("");
      continue;
    }
    if (!reader.interactive() || termination_requested()) return fail(ErrorKind::cancelled, "interrupted");
    interrupt_flag().clear();
    note("(stopped)\n");
  }
  return {};
}

Result<std::vector<Message>> begin_conversation(const ChatFlags& flags) {
  std::error_code ignored;
  if (flags.history.empty() || !std::filesystem::exists(flags.history, ignored)) return std::vector<Message>{};
  return read_conversation_file(flags.history);
}

Result<> chat(const ChatFlags& flags) {
  TRY_TAKE(std::vector<Message> messages, begin_conversation(flags));
  TRY_TAKE(EngineOptions options, flags.model.options());
  options.overhead_bytes = kOverheadBytes;
  flags.usage.apply(options);
  TRY_TAKE(const SamplingParams recommended, recommended_sampling(flags.model.directory()));
  ChatSettings settings{.sampling = {},
                        .seed = flags.sampling.seed,
                        .stops = flags.sampling.stop,
                        .max_tokens = flags.max_tokens,
                        .options = {}};
  TRY_TAKE(settings.sampling, flags.sampling.over(recommended));
  TRY_TAKE(KnownModel model, know_model(flags.model.directory()));
  TRY_TAKE(const Tokenizer* const tokenizer, need_tokenizer(model));
  TRY_TAKE(std::unique_ptr<ChatFormat> format, model.config->open_chat(*tokenizer, model.directory));
  settings.options = format->defaults();
  TRY_TAKE(const std::unique_ptr<Engine> engine, open_engine(std::move(model), options, PlanTelling::nothing));

  ChatSession session(*engine, std::move(format), std::move(settings));
  session.start_from(std::move(messages));
  if (!flags.think.empty()) session.set_thinking(flags.think);
  ConversationLog log(flags.history, session);
  if (!flags.system.empty()) session.set_system(flags.system);
  const std::unique_ptr<LineReader> reader = make_line_reader(">");
  for (const Message& message : session.messages())
    if (message.role == Role::user && !message.content.empty()) reader->remember(message.content.front().text);
  if (reader->interactive()) {
    note(fmt::format("{}: {}", engine->config().family(), engine->config().summary()));
    note(plan_line(engine->plan()));
    if (!session.messages().empty()) note(fmt::format("{} messages so far", session.messages().size()));
    note("/help lists commands, Ctrl-C stops an answer, Ctrl-D ends\n");
  }
  Result<> outcome = talk(*engine, session, log, *reader);
  keep_usage(*engine);
  return outcome;
}

}  // namespace

void add_chat(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<ChatFlags>();
  CLI::App* command = app.add_subcommand("chat", "A conversation in the terminal, or through a pipe");
  flags->model.add(*command);
  flags->usage.add(*command);
  command->add_option("--system", flags->system, "A system message: what the model is to be")->type_name("TEXT");
  command
      ->add_option("--history", flags->history,
                   "Keep the conversation in this file and go on from what is there: one message a line")
      ->type_name("FILE");
  command->add_option("--think", flags->think, "off, on, or how much to think, in the model's own words")
      ->type_name("EFFORT");
  command->add_option("--max-tokens", flags->max_tokens, "New tokens of one answer at most")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 24))
      ->default_str("what the context has room for");
  flags->sampling.add(*command, true);
  command->callback([flags, &chosen] { chosen = [flags] { return chat(*flags); }; });
}

}  // namespace sluice::cli
