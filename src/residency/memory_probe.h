// What memory and the kernels deliver on this machine: the other two limits of a token's speed beside the disk.
//
// Each measurement takes about a tenth of a second and some tens of MiB, larger than the caches.
#pragma once

#include <cstdint>

#include "base/thread_pool.h"
#include "compute/ops.h"
#include "formats/weight_view.h"

namespace sluice {

// Bytes per second that all threads together read from memory.
double probe_memory(ThreadPool& pool);

// Stored bytes per second of weights in this format that a matrix product with one vector works through, from memory.
double probe_multiply(Ops& ops, FormatId format);

}  // namespace sluice
