// Named budgets: machines that people have, and what each buys.
//
// A preset is a share of the model: so much of the trunk and of the experts beside what every run needs. The shares are
// those of Kimi K3 at 3, 8, 32, 96, 128 and 224 GiB; other models get the same shares of their own weights, and more
// where that would not make the words true. Budgets are round: one of four steps between powers of two.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "residency/plan.h"

namespace sluice {

struct Preset {
  std::string_view name;     // "laptop"
  std::string_view meaning;  // "at least a quarter of the trunk stays in memory"
  std::uint64_t budget_bytes = 0;
};

// Ascending budgets, each accepted by make_plan.
std::vector<Preset> presets(const PlanNeeds& needs);
// Nothing if there is no preset of this name.
std::optional<Preset> find_preset(const PlanNeeds& needs, std::string_view name);

}  // namespace sluice
