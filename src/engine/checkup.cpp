// See checkup.h.
#include "engine/checkup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/counted.h"
#include "base/text_file.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "checkpoint/checksums.h"
#include "compute/kernel_table.h"
#include "engine/footprint.h"
#include "engine/run_record.h"
#include "engine/usage_place.h"
#include "io/aligned.h"
#include "io/extent.h"
#include "io/uring_queue.h"
#include "residency/memory_probe.h"

namespace sluice {

namespace {

constexpr double kSlowDisk = 1e9;  // bytes a second: below the slowest NVMe drives

Finding broken(std::string what, const Error& error) {
  return {std::move(what), Health::broken, error.what, error.hint, error.kind};
}

Finding processor(const EngineOptions& options) {
  std::vector<std::string> names;
  for (const KernelTable* table : supported_kernels()) names.emplace_back(table->name);
  const KernelTable& best = best_kernels();
  const int threads = options.threads > 0 ? options.threads : ThreadPool::usable_cpus();
  Finding finding{
      "processor", Health::good,
      fmt::format("{}, kernels {} (it can run {})", counted(threads, "thread"), best.name, fmt::join(names, ", "))};
  if (names.size() > 1) return finding;
  finding.health = Health::slow;
  finding.fix = "only the portable kernels run here: a processor with AVX2 or AVX-512 is many times faster";
  return finding;
}

Finding memory(const Machine& machine, double bytes_per_second) {
  Finding finding{"memory", Health::good,
                  fmt::format("{} of {} available to this process, read at {}", format_bytes(machine.available_bytes),
                              format_bytes(machine.total_bytes), format_rate(bytes_per_second))};
  if (machine.available_bytes >= machine.total_bytes / 2) return finding;
  finding.health = Health::slow;
  finding.fix = "other programs hold more than half of it: end them, or raise the limit of the control group";
  return finding;
}

Finding huge_pages() {
  const std::string setting = read_text_file("/sys/kernel/mm/transparent_hugepage/enabled").value_or("");
  if (setting.empty()) return {"huge pages", Health::slow, "the system has none", "weights are read some 10 % slower"};
  if (setting.find("[never]") == std::string::npos)
    return {"huge pages", Health::good, "weights are kept in huge pages"};
  return {"huge pages", Health::slow, "switched off, which costs some 10 % of the speed of memory",
          "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"};
}

// As the system lists them, for a program that cannot ask for more.
int listed_nodes() {
  int nodes = 0;
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/devices/system/node", absent)) {
    const std::string name = entry.path().filename().string();
    nodes += name.starts_with("node") && name.size() > 4 && name[4] >= '0' && name[4] <= '9' ? 1 : 0;
  }
  return nodes;
}

Finding reading() {
  const std::optional<std::string> refusal = ring_refusal();
  return {"reading", Health::good,
          refusal ? "with threads; io_uring cannot be used: " + *refusal
                  : "with threads; io_uring can be used too (--io-engine io_uring)"};
}

Finding tokenizer(const KnownModel& model) {
  if (model.tokenizer != nullptr)
    return {"tokenizer", Health::good,
            fmt::format("{} tokens", format_count(static_cast<std::uint64_t>(model.tokenizer->vocab_size())))};
  const auto needed = need_tokenizer(model);
  return {"tokenizer", Health::slow, needed.error().what, needed.error().hint};
}

Finding checksums(const Survey& survey) {
  const std::string& directory = survey.model.directory;
  const Result<std::optional<Checksums>> sums = Checksums::read(directory, survey.files);
  if (!sums) return broken("checksums", sums.error());
  if (!*sums)
    return {"checksums", Health::good,
            "none: a changed weight would not be noticed; `sluice verify MODEL --write` makes them"};
  if (const Result<> covered = (*sums)->cover(directory, survey.bound); !covered)
    return broken("checksums", covered.error());
  return {"checksums", Health::good,
          fmt::format("of every block that is read, {} together; each is checked when it is read for the first time",
                      format_count((*sums)->runs().size()))};
}

Finding disk(const MeasuredMachine& measured) {
  const DirectorySpeed& own = measured.directories.front();
  const double rate = own.disk.bytes_per_second;
  Finding finding{"disk", Health::good,
                  fmt::format("{} in reads of {}, {} at once, {}", format_rate(rate), format_bytes(own.disk.read_bytes),
                              kReaders, own.disk.direct ? "past the page cache" : "through the page cache")};
  if (rate <= 0) return {"disk", Health::broken, own.file + ": cannot be read", "run sluice verify", ErrorKind::io};
  if (!own.disk.direct) {
    finding.health = Health::slow;
    finding.fix = "its file system takes no direct reads: ext4, xfs and btrfs on a local drive do";
  } else if (rate < kSlowDisk) {
    finding.health = Health::slow;
    finding.fix = "keep the checkpoint on a local NVMe drive; nothing speeds up small budgets more";
  }
  return finding;
}

Finding mirror(const DirectorySpeed& directory, double together) {
  const double rate = directory.disk.bytes_per_second;
  if (rate <= 0)
    return {"mirror", Health::slow, directory.directory + ": cannot be read; a run goes on without it",
            "check its disk or mount"};
  Finding finding{"mirror", Health::good,
                  fmt::format("{}: the same shards, {}, brings {:.0f} % of what is read", directory.directory,
                              format_rate(rate), 100 * rate / together)};
  if (directory.same_drive) {
    finding.health = Health::slow;
    finding.fix = "it lies on the same drive as the checkpoint, so it brings no speed: keep it on another one";
  }
  return finding;
}

Finding budget(const Survey& survey, const MeasuredMachine& measured) {
  const Result<MemoryPlan> plan = plan_memory(survey);
  if (!plan) return broken("budget", plan.error());
  const Forecast cost = forecast(*plan, measured.machine);
  Finding finding{"budget", Health::good,
                  fmt::format("{}: about {} a token, limited by {}", format_bytes(plan->budget_bytes),
                              format_seconds(cost.seconds_per_token), cost.limit)};
  if (plan->planned_bytes > measured.machine.available_bytes) {
    finding.health = Health::broken;
    finding.kind = ErrorKind::refused;
    finding.fix = fmt::format("it is more than the {} available now: give a smaller --memory",
                              format_bytes(measured.machine.available_bytes));
  } else if (!plan->everything_resident && cost.limit == "disk") {
    finding.health = Health::slow;
    finding.fix = "sluice plan shows what more memory would buy";
  }
  return finding;
}

}  // namespace

Finding examine_nodes(const MemoryNodes& nodes, int listed, const std::string& refusal) {
  constexpr const char* kName = "memory nodes";
  const std::string by_hand = "run it as: numactl --interleave=all sluice ...";
  if (nodes.ids.size() == 1 || (nodes.ids.empty() && listed <= 1))
    return {kName, Health::good, "one: nothing is to be spread"};
  if (nodes.ids.empty())
    return {kName, Health::slow, fmt::format("{}: weights lie where they were read first; {}", listed, nodes.unknown),
            "build it with libnuma-dev, or " + by_hand};
  const std::string which = fmt::format("{} ({})", nodes.ids.size(), fmt::join(nodes.ids, ", "));
  if (!nodes.decided.empty())
    return {kName, Health::good,
            fmt::format("{}: the process was started with a policy ({}), which stays as it is", which, nodes.decided)};
  if (!refusal.empty())
    return {kName, Health::slow,
            fmt::format("{}: weights lie where they were read first; the system refuses to spread them ({})", which,
                        refusal),
            "a container may forbid mbind: allow it, or " + by_hand};
  return {kName, Health::good, which + ": weights are interleaved over all of them"};
}

Result<std::vector<Finding>> examine_machine(const EngineOptions& options) {
  ThreadPool pool(options.threads > 0 ? options.threads : ThreadPool::usable_cpus());
  const MemoryNodes nodes = memory_nodes();
  const PageArena trial(kDiskPage);
  const std::string refusal =
      nodes.to_spread_over() ? interleave(trial.slice(0, trial.size()), nodes.ids) : std::string();
  const Machine machine = this_machine();
  std::vector<Finding> findings = {processor(options), memory(machine, probe_memory(pool, machine.available_bytes / 4)),
                                   huge_pages(), examine_nodes(nodes, listed_nodes(), refusal), reading()};
  TRY(unless_requested(options.cancel));
  return findings;
}

Result<std::vector<Finding>> examine_model(const std::string& directory, const EngineOptions& options) {
  std::vector<Finding> findings;
  Result<KnownModel> model = know_model(directory);
  if (!model) return std::vector{broken("config", model.error())};
  findings.push_back(
      {"config", Health::good, fmt::format("{}, {}", model->config->family(), model->config->summary())});
  findings.push_back(tokenizer(*model));
  const Result<Survey> found = survey(std::move(*model), options);
  TRY(unless_requested(options.cancel));
  if (!found) {
    findings.push_back(broken("weights", found.error()));
    return findings;
  }
  findings.push_back({"weights", Health::good,
                      fmt::format("every tensor is there, in {}; sluice verify looks at every byte",
                                  counted(found->files.size(), "file"))});
  findings.push_back(checksums(*found));
  if (findings.back().health == Health::broken) return findings;
  TRY_TAKE(const MeasuredMachine measured, measure_machine(*found));
  findings.push_back(disk(measured));
  double together = 0;
  for (const DirectorySpeed& one : measured.directories) together += one.disk.bytes_per_second;
  for (std::size_t one = 1; one < measured.directories.size(); ++one)
    findings.push_back(mirror(measured.directories[one], together));
  findings.push_back(budget(*found, measured));
  if (const std::optional<UsagePlace> place = usage_place(*found))
    if (const auto killed = killed_run(place->path, options.memory_folders, Afterwards::keep)) {
      Error told = tell_of(*killed, minimum_bytes(found->needs));
      findings.push_back({"last run", Health::slow, std::move(told.what), std::move(told.hint)});
    }
  return findings;
}

}  // namespace sluice
