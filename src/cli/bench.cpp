// sluice bench WHAT: how fast a part of sluice is on this machine. One file for each part.
#include <CLI/CLI.hpp>

#include "cli/commands.h"

namespace sluice::cli {

void add_bench(CLI::App& app, Chosen& chosen) {
  CLI::App* const command = app.add_subcommand("bench", "Measure a part of sluice on this machine");
  command->require_subcommand(1);
  add_bench_index(*command, chosen);
  add_bench_io(*command, chosen);
  add_bench_kernels(*command, chosen);
  add_bench_threads(*command, chosen);
  add_bench_token(*command, chosen);
  add_bench_unpack(*command, chosen);
}

}  // namespace sluice::cli
