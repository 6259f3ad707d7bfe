// sluice bench kernels: every product kernel against the machine's read bandwidth and multiply-add peak, and against an
// earlier run. Only ratios are compared: they are of the same minute as their yardsticks, speeds are not.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text_file.h"
#include "base/thread_pool.h"
#include "cli/choose.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "compute/bench_kernels.h"

namespace sluice::cli {
namespace {

struct KernelBenchFlags {
  KernelBenchOptions options;
  std::string json, compare, numerics = "exact";
};

// The entries of a file that --json wrote.
class EarlierRun {
 public:
  static Result<EarlierRun> read(const std::string& path) {
    EarlierRun run;
    if (path.empty()) return run;
    TRY_TAKE(const std::string text, read_text_file(path));
    const nlohmann::json file = nlohmann::json::parse(text, nullptr, false);
    const auto entries = file.is_object() ? file.find("entries") : file.end();
    if (entries == file.end() || !entries->is_array() || !std::ranges::all_of(*entries, is_entry))
      return fail(ErrorKind::bad_input, fmt::format("{}: not what `sluice bench kernels --json` writes", path),
                  "give --compare such a file");
    run.entries_ = *entries;
    return run;
  }
  // The ratio that counts for this number of rows, of the same kernel on the same shape; none: not measured then.
  std::optional<double> ratio(const KernelBenchEntry& now) const {
    const auto same = std::ranges::find_if(entries_, [&](const nlohmann::json& then) {
      return then.at("format") == now.format && then.at("isa") == now.isa && then.at("rows") == now.rows &&
             then.at("shape") == nlohmann::json{now.outs, now.cols} &&
             then.value("numerics", "exact") == numerics_name(now.numerics);
    });
    if (same == entries_.end()) return std::nullopt;
    return same->at(now.rows == 1 ? "bandwidth_ratio" : "peak_ratio").get<double>();
  }

 private:
  static bool is_entry(const nlohmann::json& entry) {
    const auto numbers = [&](const char* name) { return entry.contains(name) && entry[name].is_number(); };
    return entry.is_object() && entry.contains("format") && entry.contains("isa") && entry.contains("shape") &&
           (!entry.contains("numerics") || entry["numerics"].is_string()) && numbers("rows") &&
           numbers("bandwidth_ratio") && numbers("peak_ratio");
  }

  nlohmann::json entries_ = nlohmann::json::array();
};

double counting_ratio(const KernelBenchEntry& entry) {
  return entry.rows == 1 ? entry.bandwidth_ratio : entry.peak_ratio;
}

nlohmann::json kernels_json(const KernelBench& bench, const EarlierRun& earlier) {
  nlohmann::json entries = nlohmann::json::array();
  for (const KernelBenchEntry& entry : bench.entries) {
    entries.push_back({{"format", entry.format},
                       {"isa", entry.isa},
                       {"numerics", numerics_name(entry.numerics)},
                       {"rows", entry.rows},
                       {"shape", {entry.outs, entry.cols}},
                       {"gb_per_s", entry.gb_per_s},
                       {"bandwidth_ratio", entry.bandwidth_ratio},
                       {"gflop_per_s", entry.gflop_per_s},
                       {"peak_ratio", entry.peak_ratio},
                       {"rel_error", entry.rel_error}});
    if (entry.numerics != Numerics::exact) entries.back()["against_exact"] = entry.against_exact;
    if (const auto before = earlier.ratio(entry)) entries.back()["earlier_ratio"] = *before;
  }
  return {{"threads", bench.threads},
          {"read_gb_per_s", bench.read_gb_per_s},
          {"fma_gflop_per_s", bench.fma_gflop_per_s},
          {"two_fmas", bench.two_fmas},
          {"entries", entries}};
}

// How a row of the table names its kernel.
std::string kernel_name(const KernelBenchEntry& entry) {
  return entry.numerics == Numerics::exact ? entry.isa : fmt::format("{} {}", entry.isa, numerics_name(entry.numerics));
}

Result<> run_kernel_bench(KernelBenchFlags flags) {
  enum class Whose { exact, fast, both };
  TRY_TAKE(const Whose whose, choose<Whose>("--numerics", flags.numerics, "is not a set of numbers",
                                            {{"exact", Whose::exact}, {"fast", Whose::fast}, {"both", Whose::both}}));
  flags.options.exact = whose != Whose::fast;
  flags.options.fast = whose != Whose::exact;
  const bool table = flags.json != "-", compares = !flags.compare.empty();
  TRY_TAKE(const EarlierRun earlier, EarlierRun::read(flags.compare));
  if (table)
    std::printf("%-8s %-15s %5s %13s %9s %8s %9s %8s %10s%s%s\n", "format", "isa", "rows", "weight", "GB/s", "of read",
                "GFLOP/s", "of peak", "error", flags.options.fast ? "  of exact" : "",
                compares ? "  earlier, now of it" : "");
  TRY_TAKE(const KernelBench bench, bench_kernels(flags.options, [&](const KernelBenchEntry& entry) {
             if (!table) return;
             std::string then, faster;
             if (flags.options.fast)
               faster = entry.against_exact > 0 ? fmt::format("{:10.2f}", entry.against_exact) : std::string(10, ' ');
             if (const auto before = earlier.ratio(entry))
               then = fmt::format("{:9.2f} {:8.2f}", *before, counting_ratio(entry) / *before);
             else if (compares)
               then = "        -        -";
             std::printf("%-8s %-15s %5d %13s %9.2f %8.2f %9.1f %8.2f %10.1e%s%s\n", entry.format.c_str(),
                         kernel_name(entry).c_str(), entry.rows, fmt::format("{} x {}", entry.outs, entry.cols).c_str(),
                         entry.gb_per_s, entry.bandwidth_ratio, entry.gflop_per_s, entry.peak_ratio, entry.rel_error,
                         faster.c_str(), then.c_str());
             std::fflush(stdout);
           }));
  if (table)
    std::printf("%d threads; yardsticks (medians): read %.1f GB/s, multiply-add %.0f GFLOP/s%s\n", bench.threads,
                bench.read_gb_per_s, bench.fma_gflop_per_s, bench.two_fmas ? ", two of 512 bits a cycle" : "");
  return flags.json.empty() ? Result<>{} : write_json(flags.json, kernels_json(bench, earlier));
}

}  // namespace

void add_bench_kernels(CLI::App& bench, Chosen& chosen) {
  const auto flags = std::make_shared<KernelBenchFlags>();
  flags->options.threads = ThreadPool::usable_cpus();
  flags->options.cancel = &interrupt_flag();
  CLI::App* const command = bench.add_subcommand(
      "kernels", "GB/s of weights, GFLOP/s, and their ratios to what this machine reads and multiplies at most");
  command->add_option("--threads", flags->options.threads, "Threads")->check(CLI::Range(1, 1024));
  command->add_option("--format", flags->options.format, "Only this format, as `mxfp4`");
  command->add_option("--isa", flags->options.isa, "Only this instruction set, as `avx2`");
  command
      ->add_option("--numerics", flags->numerics,
                   "Whose kernels: exact, fast (with their speed against the exact ones, in turns) or both")
      ->type_name("MODE");
  command->add_flag("--full", flags->options.full,
                    "Also 2, 8, 16 and 256 rows, and the scalar kernels for all of them");
  command
      ->add_option("--compare", flags->compare,
                   "What --json wrote before: its ratios beside these (of read for one row, else of peak)")
      ->type_name("FILE");
  command->add_option("--json", flags->json, "Write the figures to a file, or - for standard output");
  command->callback([flags, &chosen] { chosen = [flags] { return run_kernel_bench(*flags); }; });
}

}  // namespace sluice::cli
