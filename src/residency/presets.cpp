// See presets.h.
#include "residency/presets.h"

#include <algorithm>
#include <bit>

namespace sluice {

namespace {

struct Share {
  std::string_view name, meaning;
  double trunk, experts;            // of their bytes, beside what every run needs
  double trunk_kept, experts_kept;  // what the plan must really keep, so that the words are true
};

// Kimi K3: a trunk of 101.3 GiB, experts of 1,347.5 GiB, and about 0.8 GiB that every run needs.
constexpr Share kShares[] = {
    {"ultra", "nearly everything is read again for every token", 0.022, 0, 0, 0},
    {"laptop", "the first layers of the trunk stay in memory", 0.0715, 0, 0.03, 0},
    {"desktop", "at least a quarter of the trunk stays in memory", 0.3085, 0, 0.25, 0},
    {"workstation", "most of the trunk stays in memory", 0.9405, 0, 0.8, 0},
    {"server", "the whole trunk and some experts stay in memory", 1, 0.0192, 1, 0.01},
    {"max", "the whole trunk and the most used experts stay in memory", 1, 0.0905, 1, 0.05},
};

// The nearest of 4, 5, 6, 7 times a power of two that is not below `least`.
std::uint64_t round_step(std::uint64_t bytes, std::uint64_t least) {
  bytes = std::max(bytes, least);
  const int shift = std::max(0, static_cast<int>(std::bit_width(bytes)) - 3);
  const std::uint64_t step = std::uint64_t{1} << shift;
  const std::uint64_t nearest = (bytes + step / 2) / step * step;
  return nearest < least ? nearest + step : nearest;
}

bool keeps(const PlanNeeds& needs, std::uint64_t budget, const Share& share) {
  const Result<MemoryPlan> plan = make_plan(needs, budget);
  if (!plan) return false;
  const auto trunk = static_cast<double>(plan->parts.trunk_pinned + plan->trunk_passing_bytes);
  return static_cast<double>(plan->parts.trunk_pinned) >= share.trunk_kept * trunk &&
         plan->expert_slots >= share.experts_kept * static_cast<double>(needs.expert_count);
}

}  // namespace

std::vector<Preset> presets(const PlanNeeds& needs) {
  const std::uint64_t minimum = minimum_bytes(needs);
  std::uint64_t trunk = 0, largest = 0;
  for (const std::uint64_t step : needs.step_bytes) trunk += step, largest = std::max(largest, step);
  const std::uint64_t experts = needs.expert_count * needs.expert_slot_bytes;
  const std::uint64_t always = minimum - std::min(minimum, largest);
  std::vector<Preset> all;
  for (const Share& share : kShares) {
    const auto weights = static_cast<std::uint64_t>(share.trunk * static_cast<double>(trunk) +
                                                    share.experts * static_cast<double>(experts));
    std::uint64_t budget = round_step(always + weights, minimum);
    while (!keeps(needs, budget, share)) budget = round_step(budget, budget + 1);
    all.push_back({share.name, share.meaning, budget});
  }
  return all;
}

std::optional<Preset> find_preset(const PlanNeeds& needs, std::string_view name) {
  for (const Preset& preset : presets(needs))
    if (preset.name == name) return preset;
  return std::nullopt;
}

}  // namespace sluice
