// Least recently used: the yardstick of every cache, and a bad one here.
//
// A token visits the layers in a circle, so until the slots hold what one whole token uses, the expert that was used
// longest ago is the very one whose layer comes next: no hits at all.
#pragma once

#include "residency/policy.h"

namespace sluice {
std::unique_ptr<EvictionPolicy> make_lru(PolicyShape shape);
}  // namespace sluice
