// Reads every byte of a checkpoint once and looks for what no sound one contains: numbers that are not finite, scale
// bytes that would overflow, places the disk cannot read.
//
// Headers and the census were checked before (TensorIndex, Checkpoint::bind); this finds damage inside the weights, by
// file and tensor, so that a person knows which shard to fetch again. A wrong but ordinary number is found by checksums
// alone (checkpoint/checksums.h), which can be computed on the way.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "checkpoint/run_hasher.h"
#include "checkpoint/tensor_index.h"
#include "io/files.h"

namespace sluice {

struct WeightFault {
  int file = 0;
  std::string tensor;   // empty if the file could not be read
  std::string problem;  // "3 values are not finite, the first at [0, 17]"
};

struct VerifyOptions {
  int readers = 4;                                      // reads at a time, beside the checking
  std::uint64_t window_bytes = std::uint64_t{4} << 20;  // of one read. Requires: a multiple of kDiskPage
  const CancelFlag* cancel = nullptr;                   // optional
  RunHasher* hasher = nullptr;                          // optional: is fed with every byte on the way
};

// Called on the calling thread with the bytes read so far.
using VerifyProgress = FunctionRef<void(std::uint64_t done_bytes)>;

std::uint64_t verify_bytes(const Files& files);  // that will be read

// Faults in the order of files and of tensors within them. Requires: `files` are those of the index, in its order.
// Fails only if it was cancelled.
Result<std::vector<WeightFault>> verify_weights(const TensorIndex& index, const Files& files,
                                                const VerifyOptions& options, VerifyProgress progress);

}  // namespace sluice
