// The program `sluice`: picks the command, turns its outcome into a sentence and an exit code.
#include <malloc.h>
#include <signal.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/last_words.h"
#include "cli/output_paths.h"

namespace sluice::cli {
namespace {

// A new command: its file, its line in commands.h, its line here.
void (*const kCommands[])(CLI::App&, Chosen&) = {
    add_run,   add_chat,    add_serve,  add_plan,     add_doctor,  add_synth, add_trace,
    add_bench, add_inspect, add_verify, add_tokenize, add_convert, add_pack,  add_compare,
};

constexpr const char* kExitCodes =
    "Exit codes: 0 done, 1 bad input, 2 usage, 3 refused by the memory plan, 4 corrupt or unreadable weights,\n"
    "70 a bug of sluice, 130 interrupted. Sizes: 512M, 16G, plain bytes; K, M, G, T are powers of 1024.";

int report(const Error& error) {
  std::fprintf(stderr, "sluice: %s\n", error.what.c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "  %s\n", error.hint.c_str());
  return fate(error.kind).exit_code;
}

// What was wrong in the words after `sluice`, in terms of the command that they are for.
Error wrong_words(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* command = &app;
  std::string name = "sluice";
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    name += ' ' + command->get_name();
  }
  std::string what = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const std::vector<std::string> words = app.remaining(true);
    const auto flag = std::ranges::find_if(words, [](const std::string& word) { return word.starts_with("-"); });
    if (flag != words.end())
      what = fmt::format("{} has no flag {}", name, *flag);
    else if (!words.empty())
      what = fmt::format("{} does not know what to do with '{}'", name, words.front());
  } else if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    std::vector<std::string> commands;
    for (const CLI::App* part : command->get_subcommands({})) commands.push_back(part->get_name());
    what = commands.empty() ? fmt::format("{}: {}", name, what)
                            : fmt::format("{} needs a command: {}", name, fmt::join(commands, ", "));
  }
  return {ErrorKind::usage, what, "see " + name + " --help"};
}

int run_program(int argc, char** argv) {
  // The memory plan counts every byte: glibc must not keep an arena per thread, nor freed buffers.
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_TRIM_THRESHOLD, 128 * 1024);
  install_interrupt_handler();
  install_last_words();
  ::signal(SIGXFSZ, SIG_IGN);  // a limit on the size of files (ulimit -f) is an error of the write that meets it

  CLI::App app(
      "sluice runs Mixture-of-Experts language models far larger than memory, by streaming their weights from disk.",
      "sluice");
  app.set_version_flag("--version", std::string("sluice " SLUICE_VERSION));
  app.require_subcommand(1);
  app.fallthrough();
  app.get_formatter()->column_width(36);
  app.option_defaults()->always_capture_default();
  app.footer(kExitCodes);
  bool quiet = false, verbose = false;
  app.add_flag("--quiet", quiet, "Say nothing but the result");
  app.add_flag("--verbose", verbose, "Say more");

  Chosen chosen;
  for (auto* add : kCommands) add(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& shown) {
    return app.exit(shown);
  } catch (const CLI::ParseError& error) {
    return report(wrong_words(app, error));
  }
  set_verbosity(quiet ? Verbosity::quiet : verbose ? Verbosity::verbose : Verbosity::normal);
  if (const Result<> writable = check_output_paths(app); !writable) return report(writable.error());
  const Result<> outcome = with_last_words(chosen);
  return outcome ? 0 : report(outcome.error());
}

}  // namespace
}  // namespace sluice::cli

int main(int argc, char** argv) { return sluice::cli::run_program(argc, argv); }
