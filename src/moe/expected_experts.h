// Reads of experts that begin while the attention before them is computed: the layer's router is asked about the stream
// as it is before the attention, and most of what it names is what it will choose (docs/cache_policy.md).
//
// It costs the router's products once more, and a wrong name a read that nobody needed. Which experts are in memory
// changes; what is computed does not.
#pragma once

#include "moe/router.h"
#include "residency/expert_store.h"

namespace sluice {

// Passes of more rows ask for so many experts of a layer that their reads keep the disk busy anyway.
inline constexpr int kMostRowsThatExpect = 4;

// What the rows would choose, the first choices of each row first.
void expect_experts(Ops& ops, ExpertStore& store, int layer, const RouterScores& scores);

}  // namespace sluice
