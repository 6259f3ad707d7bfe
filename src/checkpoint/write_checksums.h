// Reads a checkpoint from end to end and writes its file of checksums.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "checkpoint/bound.h"
#include "checkpoint/checksums.h"
#include "checkpoint/verify.h"

namespace sluice {

// Of every run of `bound` in the shards of `index`. Weights in which verify_weights finds a fault: corrupt, with the
// first one named, and nothing is written. The same where the directory has checksums already and a run does not match
// its own: what was damaged since is not sealed. Older ones that cannot be used are replaced. `options.hasher` is not
// looked at. Requires: as verify_weights.
Result<> write_checksums(const std::string& directory, const TensorIndex& index, const Files& files,
                         const BoundCensus& bound, const VerifyOptions& options, VerifyProgress progress);

}  // namespace sluice
