// Evicts the expert whose next use is expected to be furthest away.
//
// An expert can only be used when its layer comes round, and then it is used with probability p. Expected distance to
// its next use, in layers, with L layers a token:
//   (layers until its layer comes again) + L * (1/p - 1)
// p is the share of its layer's requests that used it, each step counting 0.9 of the one after it. Unlike recency alone
// it has no cliff: with slots for a tenth of a token it keeps the experts that come most often.
#pragma once

#include "residency/policy.h"

namespace sluice {
std::unique_ptr<EvictionPolicy> make_expected_use(PolicyShape shape);
}  // namespace sluice
