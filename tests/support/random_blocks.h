// Blocks scattered over files in memory: misaligned, permuted, of different sizes, some tensors apart, some adjacent.
//
// A test reads them through a store and compares what a lease shows with the files' own bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "checkpoint/block.h"
#include "checkpoint/bound.h"
#include "residency/lease.h"
#include "support/memory_files.h"

namespace sluice::test {

struct RunOnDisk {
  int file = 0;
  std::uint64_t offset = 0, bytes = 0;
};

struct ScatteredTensor {
  RunOnDisk weights, scales;  // scales.bytes 0 where the format has none
};

struct ScatteredBlock {
  BlockSpec spec;
  BlockLayout layout;
  std::vector<ScatteredTensor> tensors;
};

// `count` blocks of one to four tensors (bf16, MXFP4 or FP8 with sound E8M0 scales) in two new files of `files`,
// between a few hundred bytes and `largest_tensor` each.
std::vector<ScatteredBlock> scatter_blocks(MemoryFiles& files, int count, std::uint64_t largest_tensor,
                                           std::uint64_t seed);

// As an expert table: block layer * experts + expert.
ExpertTable table_of(const std::vector<ScatteredBlock>& blocks, int layers, int experts);

// True if the lease shows exactly the bytes on disk.
bool shows(const Lease& lease, const ScatteredBlock& block, MemoryFiles& files);

}  // namespace sluice::test
