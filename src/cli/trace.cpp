// sluice trace WHAT: routing traces, written by run --trace. One file for each command.
#include <CLI/CLI.hpp>

#include "cli/commands.h"

namespace sluice::cli {

void add_trace(CLI::App& app, Chosen& chosen) {
  CLI::App* const command = app.add_subcommand("trace", "Replay and describe routing traces, written by run --trace");
  command->require_subcommand(1);
  add_trace_replay(*command, chosen);
  add_trace_report(*command, chosen);
}

}  // namespace sluice::cli
