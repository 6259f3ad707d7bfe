// See measure.h.
#include "engine/measure.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <utility>

#include "checkpoint/storage.h"
#include "compute/cpu_ops.h"
#include "engine/footprint.h"
#include "formats/format.h"
#include "residency/memory_probe.h"

namespace sluice {

namespace {

// The format that most bytes of a role have.
const Format* usual_format(const BoundCensus& bound, const std::string& role) {
  const auto found = bound.totals.find(role);
  if (found == bound.totals.end()) return nullptr;
  const auto most = std::ranges::max_element(found->second, {}, [](const auto& entry) { return entry.second.bytes; });
  if (most != found->second.end() && most->first == kCompressedType) return &format(FormatId::bf16);
  for (const Format* stored : formats())
    if (most != found->second.end() && stored->name == most->first) return stored;
  return nullptr;
}

// Weights per second over one token's mix of formats.
double multiply_rate(const Survey& survey, Ops& ops, std::uint64_t most_bytes) {
  double trunk_bytes = 0;
  for (const std::uint64_t step : survey.needs.step_bytes) trunk_bytes += static_cast<double>(step);
  const PlanNeeds& needs = survey.needs;
  const double expert_bytes = static_cast<double>(needs.expert_layers * needs.experts_in_use * needs.expert_slot_bytes);
  double seconds = 0;
  for (const auto& [role, bytes] : {std::pair{"trunk", trunk_bytes}, std::pair{"experts", expert_bytes}}) {
    const Format* stored = usual_format(survey.bound, role);
    if (bytes > 0 && stored != nullptr) seconds += bytes / std::max(probe_multiply(ops, stored->id, most_bytes), 1.0);
  }
  return seconds > 0 ? (trunk_bytes + expert_bytes) / seconds : 0;
}

std::uint64_t size_of(const std::string& path) {
  std::error_code problem;
  const auto size = std::filesystem::file_size(path, problem);
  return problem ? 0 : size;
}

}  // namespace

DirectoriesToProbe directories_to_probe(const Survey& survey) {
  DirectoriesToProbe what{.directories = {}, .read_bytes = survey.needs.expert_slot_bytes};
  const auto add = [&](const std::string& directory, const std::vector<std::string>& files, bool same_drive) {
    what.directories.push_back({directory, *std::ranges::max_element(files, {}, size_of), {}, same_drive});
  };
  add(survey.model.directory, survey.files, true);
  for (const Mirror& mirror : survey.mirrors) add(mirror.directory, mirror.files, mirror.same_drive);
  return what;
}

DirectoriesToProbe directories_to_probe(const Survey& survey, std::uint64_t trunk_read, std::uint64_t experts_read) {
  DirectoriesToProbe what = directories_to_probe(survey);
  const std::vector<std::uint64_t>& steps = survey.needs.step_bytes;
  if (trunk_read > experts_read && !steps.empty())
    what.read_bytes = std::accumulate(steps.begin(), steps.end(), std::uint64_t{0}) / steps.size();
  return what;
}

std::vector<DirectorySpeed> probe_directories(DirectoriesToProbe what, DiskProbe probe) {
  if (what.read_bytes > 0) probe.read_bytes = std::min(probe.read_bytes, what.read_bytes);
  for (DirectorySpeed& one : what.directories) one.disk = probe_disk(one.file, probe).value_or(DiskSpeed{});
  return std::move(what.directories);
}

double bytes_per_second(const std::vector<DirectorySpeed>& directories) {
  double shared = 0, others = 0;
  for (const DirectorySpeed& one : directories)
    (one.same_drive ? shared : others) =
        one.same_drive ? std::max(shared, one.disk.bytes_per_second) : others + one.disk.bytes_per_second;
  return shared + others;
}

Result<MeasuredMachine> measure_machine(const Survey& survey) {
  const CancelFlag* const cancel = survey.options.cancel;
  MeasuredMachine measured;
  Machine& machine = measured.machine;
  machine = this_machine();
  if (!survey.files.empty()) {
    measured.directories = probe_directories(directories_to_probe(survey), {.depth = kReaders, .cancel = cancel});
    machine.disk_bytes_per_second = bytes_per_second(measured.directories);
  }
  TRY(unless_requested(cancel));
  ThreadPool pool(survey.options.threads);
  const std::uint64_t most_bytes = machine.available_bytes / 4;
  machine.memory_bytes_per_second = probe_memory(pool, most_bytes);
  TRY(unless_requested(cancel));
  const KernelTable* kernels = find_kernels(survey.options.isa);
  CpuOps ops(pool, kernels != nullptr ? *kernels : best_kernels(), {.rows = 1, .width = 4096});
  machine.multiply_bytes_per_second = multiply_rate(survey, ops, most_bytes);
  TRY(unless_requested(cancel));
  return measured;
}

}  // namespace sluice
