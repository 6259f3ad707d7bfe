// sluice bench kernels: every product kernel against the machine's read bandwidth and multiply-add peak.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/thread_pool.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "compute/bench_kernels.h"

namespace sluice::cli {
namespace {

struct Flags {
  KernelBenchOptions options;
  std::string json;
};

nlohmann::json to_json(const KernelBench& bench) {
  nlohmann::json entries = nlohmann::json::array();
  for (const KernelBenchEntry& entry : bench.entries)
    entries.push_back({{"format", entry.format},
                       {"isa", entry.isa},
                       {"rows", entry.rows},
                       {"shape", {entry.outs, entry.cols}},
                       {"gb_per_s", entry.gb_per_s},
                       {"bandwidth_ratio", entry.bandwidth_ratio},
                       {"gflop_per_s", entry.gflop_per_s},
                       {"peak_ratio", entry.peak_ratio},
                       {"rel_error", entry.rel_error}});
  return {{"threads", bench.threads},
          {"read_gb_per_s", bench.read_gb_per_s},
          {"fma_gflop_per_s", bench.fma_gflop_per_s},
          {"entries", entries}};
}

Result<> run(const Flags& flags) {
  const bool table = flags.json != "-";
  if (table)
    std::printf("%-8s %-10s %5s %13s %9s %8s %9s %8s %10s\n", "format", "isa", "rows", "weight", "GB/s", "of read",
                "GFLOP/s", "of peak", "error");
  TRY_TAKE(const KernelBench bench, bench_kernels(flags.options, [&](const KernelBenchEntry& entry) {
             if (!table) return;
             std::printf("%-8s %-10s %5d %13s %9.2f %8.2f %9.1f %8.2f %10.1e\n", entry.format.c_str(),
                         entry.isa.c_str(), entry.rows, fmt::format("{} x {}", entry.outs, entry.cols).c_str(),
                         entry.gb_per_s, entry.bandwidth_ratio, entry.gflop_per_s, entry.peak_ratio, entry.rel_error);
             std::fflush(stdout);
           }));
  if (table)
    std::printf("%d threads; yardsticks (medians): read %.1f GB/s, multiply-add %.0f GFLOP/s\n", bench.threads,
                bench.read_gb_per_s, bench.fma_gflop_per_s);
  return flags.json.empty() ? Result<>{} : write_json(flags.json, to_json(bench));
}

}  // namespace

void add_bench_kernels(CLI::App& bench, Chosen& chosen) {
  const auto flags = std::make_shared<Flags>();
  flags->options.threads = ThreadPool::usable_cpus();
  flags->options.cancel = &interrupt_flag();
  CLI::App* const command = bench.add_subcommand(
      "kernels", "GB/s of weights, GFLOP/s, and their ratios to what this machine reads and multiplies at most");
  command->add_option("--threads", flags->options.threads, "Threads")->check(CLI::Range(1, 1024));
  command->add_option("--format", flags->options.format, "Only this format, as `mxfp4`");
  command->add_option("--isa", flags->options.isa, "Only this instruction set, as `avx2`");
  command->add_flag("--full", flags->options.full,
                    "Also 2, 8, 16 and 256 rows, and the scalar kernels for all of them");
  command->add_option("--json", flags->json, "Write the figures to a file, or - for standard output");
  command->callback([flags, &chosen] { chosen = [flags] { return run(*flags); }; });
}

}  // namespace sluice::cli
