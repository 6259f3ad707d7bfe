// See measure.h.
#include "engine/measure.h"

#include <algorithm>
#include <filesystem>

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

std::vector<DirectorySpeed> probe_directories(const Survey& survey, DiskProbe probe) {
  if (survey.needs.expert_slot_bytes > 0) probe.read_bytes = std::min(probe.read_bytes, survey.needs.expert_slot_bytes);
  std::vector<DirectorySpeed> speeds;
  const auto measure = [&](const std::string& directory, const std::vector<std::string>& files, bool same_drive) {
    const std::string& file = *std::ranges::max_element(files, {}, size_of);
    speeds.push_back({directory, file, probe_disk(file, probe).value_or(DiskSpeed{}), same_drive});
  };
  measure(survey.model.directory, survey.files, true);
  for (const Mirror& mirror : survey.mirrors) measure(mirror.directory, mirror.files, mirror.same_drive);
  return speeds;
}

MeasuredMachine measure_machine(const Survey& survey) {
  MeasuredMachine measured;
  Machine& machine = measured.machine;
  machine = this_machine();
  if (!survey.files.empty()) {
    measured.directories = probe_directories(survey, {.depth = kReaders});
    // A second copy on the same drive brings nothing.
    double shared = 0, others = 0;
    for (const DirectorySpeed& one : measured.directories)
      (one.same_drive ? shared : others) =
          one.same_drive ? std::max(shared, one.disk.bytes_per_second) : others + one.disk.bytes_per_second;
    machine.disk_bytes_per_second = shared + others;
  }
  ThreadPool pool(survey.options.threads);
  const std::uint64_t most_bytes = machine.available_bytes / 4;
  machine.memory_bytes_per_second = probe_memory(pool, most_bytes);
  const KernelTable* kernels = find_kernels(survey.options.isa);
  CpuOps ops(pool, kernels != nullptr ? *kernels : best_kernels(), {.rows = 1, .width = 4096});
  machine.multiply_bytes_per_second = multiply_rate(survey, ops, most_bytes);
  return measured;
}

}  // namespace sluice
