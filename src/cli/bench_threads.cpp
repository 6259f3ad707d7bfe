// sluice bench threads: what a parallel loop costs, and what it keeps beside a busy neighbour.
#include "base/bench_threads.h"
#include "base/counted.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/thread_pool.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/console.h"

namespace sluice::cli {
namespace {

struct ThreadBenchFlags {
  int threads = ThreadPool::usable_cpus();
  std::string json;
};

nlohmann::json threads_json(const ThreadBench& bench) {
  nlohmann::json loops = nlohmann::json::array();
  for (const LoopCost& loop : bench.loops)
    loops.push_back({{"idle_s", loop.idle_seconds}, {"median_us", loop.median_us}, {"p99_us", loop.p99_us}});
  return {{"threads", bench.threads},
          {"loops", loops},
          {"speed", bench.speed},
          {"speed_beside", bench.speed_beside},
          {"fair_share", bench.fair_share}};
}

Result<> run_thread_bench(const ThreadBenchFlags& flags) {
  TRY_TAKE(const ThreadBench bench, bench_threads(flags.threads, &interrupt_flag()));
  if (flags.json != "-") {
    fmt::print("{}\n", counted(bench.threads, "thread"));
    for (const LoopCost& loop : bench.loops)
      fmt::print("splitting a loop, {}: {:.2f} us (99 % within {:.2f} us)\n",
                 loop.idle_seconds > 0 ? "after " + format_seconds(loop.idle_seconds) + " of other work"
                                       : std::string("one right after another"),
                 loop.median_us, loop.p99_us);
    fmt::print("work that only computes: {:.2f} times as fast as by one thread\n", bench.speed);
    fmt::print("the same beside a thread of somebody else that never rests: {:.2f} times; a fair share is {:.2f}\n",
               bench.speed_beside, bench.speed * bench.fair_share);
  }
  return flags.json.empty() ? Result<>{} : write_json(flags.json, threads_json(bench));
}

}  // namespace

void add_bench_threads(CLI::App& bench, Chosen& chosen) {
  const auto flags = std::make_shared<ThreadBenchFlags>();
  CLI::App* const command =
      bench.add_subcommand("threads", "What a parallel loop costs, and what it keeps beside a busy neighbour");
  command->add_option("--threads", flags->threads, "Threads (default: the CPUs this process may use)")
      ->check(CLI::Range(1, 1024))
      ->default_str("");
  command->add_option("--json", flags->json, "Write the figures to this file; - is standard output")->type_name("FILE");
  command->callback([flags, &chosen] { chosen = [flags] { return run_thread_bench(*flags); }; });
}

}  // namespace sluice::cli
