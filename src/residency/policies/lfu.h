// Least frequently used, counted from the beginning; of equals the one used longest ago goes first.
#pragma once

#include "residency/policy.h"

namespace sluice {
std::unique_ptr<EvictionPolicy> make_lfu(PolicyShape shape);
}  // namespace sluice
