// sluice bench token MODEL: decoding against what disk and memory allow, at several budgets.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/counted.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/model_flags.h"
#include "engine/bench_token.h"

namespace sluice::cli {
namespace {

constexpr double kStolenWorthTelling = 0.01;

struct TokenBenchFlags {
  ModelFlags model;
  TokenBenchOptions options;
  std::vector<std::string> budgets;
  std::string json;
};

nlohmann::json token_json(const TokenBench& bench) {
  nlohmann::json entries = nlohmann::json::array();
  for (const TokenBenchEntry& entry : bench.entries)
    entries.push_back({{"memory_bytes", entry.memory_bytes},
                       {"planned_bytes", entry.planned_bytes},
                       {"s_per_token", entry.s_per_token},
                       {"disk_floor_s", entry.disk_floor_s},
                       {"memory_floor_s", entry.memory_floor_s},
                       {"disk_alone_floor_s", entry.disk_alone_floor_s},
                       {"memory_alone_floor_s", entry.memory_alone_floor_s},
                       {"ratio", entry.ratio},
                       {"bytes_read_per_token", entry.bytes_read_per_token},
                       {"surplus_bytes_per_token", entry.surplus_bytes_per_token},
                       {"trunk_bytes_per_token", entry.trunk_bytes_per_token},
                       {"expert_bytes_per_token", entry.expert_bytes_per_token},
                       {"touched_bytes_per_token", entry.touched_bytes_per_token},
                       {"expert_hit_rate", entry.expert_hit_rate},
                       {"exposed_io_s", entry.exposed_io_s},
                       {"unpack_s", entry.unpack_s},
                       {"disk_busy_s", entry.disk_busy_s},
                       {"operations_s", entry.operations_s},
                       {"outside_share", entry.outside_share()},
                       {"stolen_s", entry.stolen_s},
                       {"rounds_s", entry.rounds_s}});
  return {{"threads", bench.threads},
          {"isa", bench.isa},
          {"io_mode", bench.io_mode},
          {"io_engine", bench.io_engine},
          {"kv", bench.kv},
          {"numerics", bench.numerics},
          {"preload", bench.preload},
          {"pin_experts", bench.pin_percent},
          {"tokens", bench.tokens},
          {"read_ahead", bench.read_ahead},
          {"directories", bench.directories},
          {"entries", entries}};
}

// The largest share of all processors' time that the host took from a budget's tokens.
double most_stolen(const TokenBench& bench) {
  double most = 0;
  for (const TokenBenchEntry& entry : bench.entries) most = std::max(most, entry.stolen_s / entry.s_per_token);
  return most / std::max(1u, std::thread::hardware_concurrency());
}

void print_head() {
  fmt::print("{:>10} {:>10} {:>11} {:>13} {:>6} {:>12} {:>6} {:>11} {:>10}\n", "budget", "per token", "disk floor",
             "memory floor", "ratio", "read", "hits", "exposed I/O", "disk busy");
}

Result<> run_token_bench(TokenBenchFlags flags) {
  flags.options.directory = flags.model.directory();
  TRY_TAKE(flags.options.engine, flags.model.options());
  for (const std::string& text : flags.budgets) {
    TRY_TAKE(const std::uint64_t budget, read_budget(text));
    flags.options.budgets.push_back(budget);
  }
  const bool table = flags.json != "-";
  bool headed = false;  // not before there is a line to stand under it: a refusal comes alone
  TRY_TAKE(const TokenBench bench, bench_token(flags.options, [&](const TokenBenchEntry& entry) {
             if (!table) return;
             if (!std::exchange(headed, true)) print_head();
             fmt::print("{:>10} {:>10} {:>11} {:>13} {:>6.2f} {:>12} {:>5.1f}% {:>11} {:>10}\n",
                        format_bytes(entry.memory_bytes), format_seconds(entry.s_per_token),
                        format_seconds(entry.disk_floor_s), format_seconds(entry.memory_floor_s), entry.ratio,
                        format_bytes(static_cast<std::uint64_t>(entry.bytes_read_per_token)),
                        100 * entry.expert_hit_rate, format_seconds(entry.exposed_io_s),
                        format_seconds(entry.disk_busy_s));
             std::fflush(stdout);
           }));
  if (const double most = most_stolen(bench); table && most > kStolenWorthTelling)
    fmt::print("the host of this virtual machine took up to {:.0f} % of its processors' time from them\n", 100 * most);
  if (table)
    fmt::print("{} a budget, {}, {} reads by {} from {}; floors measured with the other load beside them\n",
               counted(bench.tokens, "token"), counted(bench.threads, "thread"), bench.io_mode, bench.io_engine,
               fmt::join(bench.directories, " and "));
  return flags.json.empty() ? Result<>{} : write_json(flags.json, token_json(bench));
}

}  // namespace

void add_bench_token(CLI::App& bench, Chosen& chosen) {
  const auto flags = std::make_shared<TokenBenchFlags>();
  flags->options.cancel = &interrupt_flag();
  CLI::App* const command = bench.add_subcommand(
      "token", "A token's time at several budgets, and how far it is from what disk and memory allow");
  flags->model.add_for_bench(*command);
  command->add_option("--memory", flags->budgets, "Budgets: 4G,8G,16G (default: 80 % of what is available)")
      ->delimiter(',')
      ->type_name("SIZES");
  command->add_option("--tokens", flags->options.tokens, "Tokens that count, for each budget")
      ->check(CLI::Range(1, 100000));
  command->add_option("--rounds", flags->options.rounds, "Pieces they are cut into, with the floors measured between")
      ->check(CLI::Range(1, 100));
  command->add_option("--json", flags->json, "Write the figures to this file; - is standard output")->type_name("FILE");
  command->callback([flags, &chosen] { chosen = [flags] { return run_token_bench(*flags); }; });
}

}  // namespace sluice::cli
