// See presets.h.
#include "residency/presets.h"

#include <algorithm>
#include <bit>

namespace sluice {

namespace {

struct Share {
  std::string_view name, meaning;
  double trunk, experts;  // of their bytes
};

// Kimi K3: a trunk of 101.3 GiB, experts of 1,347.5 GiB, and about 0.8 GiB that every run needs.
constexpr Share kShares[] = {
    {"ultra", "nearly everything is read again for every token", 0.022, 0},
    {"laptop", "a few layers of the trunk stay in memory", 0.0715, 0},
    {"desktop", "a quarter of the trunk stays in memory", 0.3085, 0},
    {"workstation", "nearly the whole trunk stays in memory", 0.9405, 0},
    {"server", "the whole trunk and the first experts stay in memory", 1, 0.0192},
    {"max", "the whole trunk and the most useful experts stay in memory", 1, 0.0905},
};

// The nearest of 4, 5, 6, 7 times a power of two that is not below `least`.
std::uint64_t round_step(std::uint64_t bytes, std::uint64_t least) {
  bytes = std::max(bytes, least);
  const int shift = std::max(0, static_cast<int>(std::bit_width(bytes)) - 3);
  const std::uint64_t step = std::uint64_t{1} << shift;
  const std::uint64_t nearest = (bytes + step / 2) / step * step;
  return nearest < least ? nearest + step : nearest;
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
    all.push_back({share.name, share.meaning, round_step(always + weights, minimum)});
  }
  return all;
}

std::optional<Preset> find_preset(const PlanNeeds& needs, std::string_view name) {
  for (const Preset& preset : presets(needs))
    if (preset.name == name) return preset;
  return std::nullopt;
}

}  // namespace sluice
