// What it takes to read a model's blocks where they lie: how many reads, and how many bytes come with their disk pages.
//
// A property of the places alone, not of a budget or a disk: two layouts of the same tensors are compared by it.
#pragma once

#include <cstdint>

#include "checkpoint/bound.h"

namespace sluice {

struct ReadCost {
  std::uint64_t blocks = 0;
  std::uint64_t reads = 0;          // runs of pages on disk
  std::uint64_t payload_bytes = 0;  // of the tensors themselves
  std::uint64_t page_bytes = 0;     // of the pages that hold them
};

std::uint64_t read_bytes(const BlockLayout& layout);  // of its pages
ReadCost trunk_cost(const BoundCensus& bound);        // one walk
ReadCost experts_cost(const BoundCensus& bound);      // every expert once

}  // namespace sluice
