// Evicts the expert whose next use is expected to be furthest away, by a forecast that adapts; the shipped policy.
//
// An expert can only be used when its layer comes round, and then it is used with probability p. Expected distance to
// its next use, in layers, with L layers a token:
//   (layers until its layer comes again) + L * (1/p - 1)
// Unlike recency alone it has no cliff: with slots for a tenth of a token it keeps the experts that come most often. p
// is a blend of signals of the expert's past (use_history.h), weighed by what has been hitting (blend_choice.h).
// Figures: docs/cache_policy.md.
#pragma once

#include "residency/policy.h"

namespace sluice {
std::unique_ptr<EvictionPolicy> make_blended_use(PolicyShape shape);
}  // namespace sluice
