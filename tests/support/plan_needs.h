// What models need, as numbers for tests of the memory plan.
#pragma once

#include <cstdint>

#include "residency/plan.h"

namespace sluice::test {

// Any model, small or odd; the same for the same seed.
PlanNeeds random_needs(std::uint64_t seed);

// About the released Kimi K3: 93 layers of 1.14 GB in four steps, a head in slices, 92 x 896 experts.
PlanNeeds k3_like_needs();

}  // namespace sluice::test
