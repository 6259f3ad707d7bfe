// Recency that knows about layers: an expert comes back after about as many tokens as it has been away.
//
// The one expected last goes:  (layers until its layer comes again) + L * (tokens since its last use), L layers a
// token. Of two experts of the same token that is the one of the layer just left, which has no cliff where plain
// recency has one.
#pragma once

#include "residency/policy.h"

namespace sluice {
std::unique_ptr<EvictionPolicy> make_layer_recency(PolicyShape shape);
}  // namespace sluice
