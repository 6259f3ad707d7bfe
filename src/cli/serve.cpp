// sluice serve MODEL: the HTTP server.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <memory>

#include "base/counted.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/model_flags.h"
#include "cli/open_engine.h"
#include "cli/usage_flag.h"
#include "engine/session_folder.h"
#include "serve/server.h"

namespace sluice::cli {

namespace {

struct ServeFlags {
  ModelFlags model;
  UsageFlag usage;
  serve::ServeOptions options;
  std::string api_key_file, session_budget = "0", sessions;
  int slots = 4;
};

// One key a line; blank lines do not count.
Result<std::vector<std::string>> read_keys(const std::string& path) {
  std::ifstream file(path);
  if (!file.good()) return fail(ErrorKind::bad_input, fmt::format("--api-key-file: cannot read {}", path));
  std::vector<std::string> keys;
  for (std::string line; std::getline(file, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (!line.empty()) keys.push_back(line);
  }
  if (keys.empty())
    return fail(ErrorKind::bad_input, fmt::format("--api-key-file: {} holds no key", path), "write one key a line");
  return keys;
}

// Conversations that an earlier server left behind. What cannot be used is computed again when it is asked for.
Result<> restore(Engine& engine, const std::string& folder) {
  TRY_TAKE(const RestoredSessions restored, restore_sessions(engine, folder));
  for (const Error& refused : restored.refused)
    warn(fmt::format("--sessions: {}; its conversation is computed again", refused.what));
  if (restored.sessions > 0) note(fmt::format("{} conversations of {} go on", restored.sessions, folder));
  return {};
}

Result<> keep_for_next_time(Engine& engine, const std::string& folder) {
  TRY_TAKE(const SavedSessions saved, save_sessions(engine, folder));
  note(fmt::format("{} conversations are in {} ({} written)", saved.sessions, folder, format_bytes(saved.bytes)));
  return {};
}

constexpr int kUsualContext = 4096;

Result<> serve_model(const ServeFlags& flags) {
  serve::ServeOptions serving = flags.options;
  if (!flags.api_key_file.empty()) {
    TRY_TAKE(serving.access.api_keys, read_keys(flags.api_key_file));
  }
  TRY_TAKE(EngineOptions options, flags.model.options());
  TRY_TAKE(KnownModel model, know_model(flags.model.directory()));
  TRY(need_tokenizer(model));
  if (options.context == 0) options.context = std::min(kUsualContext, model.config->max_context());
  options.slots = flags.slots;
  flags.usage.apply(options);
  TRY_TAKE(options.session_bytes, parse_size(flags.session_budget, "--session-budget"));
  options.overhead_bytes = serve::server_bytes(options.context, options.slots, model.config->vocab_size());
  TRY_TAKE(const std::unique_ptr<Engine> engine, open_engine(std::move(model), options, PlanTelling::line));
  if (!flags.sessions.empty()) TRY(restore(*engine, flags.sessions));
  TRY_TAKE(const std::unique_ptr<serve::Server> server, serve::Server::open(*engine, serving));
  note(fmt::format("listening on http://{}:{} ({}, {} may wait; Ctrl-C ends it)", serving.host, server->port(),
                   counted(flags.slots, "slot"), serving.queue));
  server->run(interrupt_flag());
  note("stopped: every answer was completed");
  keep_usage(*engine);
  if (!flags.sessions.empty()) TRY(keep_for_next_time(*engine, flags.sessions));
  return {};
}

}  // namespace

void add_serve(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<ServeFlags>();
  serve::ServeOptions& options = flags->options;
  CLI::App* command = app.add_subcommand("serve", "An HTTP server that speaks OpenAI's API");
  flags->model.add(*command);
  flags->usage.add(*command);
  command->add_option("--host", options.host, "Address to listen on")->type_name("ADDRESS")->capture_default_str();
  command->add_option("--port", options.port, "Port to listen on; 0 is any free one")
      ->type_name("N")
      ->check(CLI::Range(0, 65535));
  command->add_option("--api-key-file", flags->api_key_file, "Ask callers for one of the keys in this file, one a line")
      ->type_name("FILE");
  command->add_option("--slots", flags->slots, "Sequences that run at the same time, each with a context of its own")
      ->type_name("N")
      ->check(CLI::Range(1, 256));
  command
      ->add_option("--session-budget", flags->session_budget,
                   "Memory for conversations that wait for their next turn, beyond that of slots nobody uses")
      ->type_name("SIZE");
  command
      ->add_option("--sessions", flags->sessions,
                   "Folder for the conversations in memory: saved when the server ends, gone on with when it starts "
                   "again; at most as many bytes as memory holds of them")
      ->type_name("DIR");
  command->add_option("--queue", options.queue, "Sequences that may wait for a slot; more are answered with 429")
      ->type_name("N")
      ->check(CLI::Range(0, 100000));
  command->add_option("--timeout", options.timeout, "Seconds an answer may take, waiting included; 0 is any time")
      ->type_name("S")
      ->check(CLI::Range(0, 10'000'000));
  command->add_option("--cors", options.access.cors_origin, "Let web pages of this origin use the server; * is any")
      ->type_name("ORIGIN");
  command->callback([flags, &chosen] { chosen = [flags] { return serve_model(*flags); }; });
}

}  // namespace sluice::cli
