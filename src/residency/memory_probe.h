// What memory and the kernels deliver on this machine: the other two limits of a token's speed beside the disk.
//
// Each measurement takes about a tenth of a second and 96 MiB, larger than the caches, or `most_bytes` where that is
// less: then caches may flatter, and the system does not end the process for it.
#pragma once

#include <cstdint>

#include "base/thread_pool.h"
#include "compute/ops.h"
#include "formats/weight_view.h"

namespace sluice {

inline constexpr std::uint64_t kProbeBytes = std::uint64_t{96} << 20;

// Bytes per second that all threads together read from memory.
double probe_memory(ThreadPool& pool, std::uint64_t most_bytes = kProbeBytes);

// Stored bytes per second of weights in this format that a matrix product with one vector works through, from memory.
double probe_multiply(Ops& ops, FormatId format, std::uint64_t most_bytes = kProbeBytes);

}  // namespace sluice
