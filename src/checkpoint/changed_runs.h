// Which runs of a checkpoint are not what its checksums say, told as faults: by shard and block.
#pragma once

#include <vector>

#include "checkpoint/bound.h"
#include "checkpoint/checksums.h"
#include "checkpoint/run_hasher.h"
#include "checkpoint/verify.h"

namespace sluice {

// In the order of files. `hasher`: was fed with every byte, and has all runs of `sums` among its own; those that could
// not be read are left out, being faults already.
std::vector<WeightFault> changed_runs(const BoundCensus& bound, const Checksums& sums, const RunHasher& hasher);

}  // namespace sluice
