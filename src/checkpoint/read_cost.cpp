// See read_cost.h.
#include "checkpoint/read_cost.h"

namespace sluice {

namespace {

void add(ReadCost& cost, const BlockLayout& layout) {
  ++cost.blocks;
  cost.reads += layout.extents.size();
  cost.payload_bytes += layout.payload_bytes;
  cost.page_bytes += read_bytes(layout);
}

}  // namespace

std::uint64_t read_bytes(const BlockLayout& layout) {
  std::uint64_t bytes = 0;
  for (const Extent& extent : layout.extents) bytes += page_ceil(extent.offset % kDiskPage + extent.bytes);
  return bytes;
}

ReadCost trunk_cost(const BoundCensus& bound) {
  ReadCost cost;
  for (const BlockLayout& step : bound.walk) add(cost, step);
  return cost;
}

ReadCost experts_cost(const BoundCensus& bound) {
  ReadCost cost;
  for (int layer = 0; layer < bound.experts.layers(); ++layer)
    for (int expert = 0; expert < bound.experts.experts(); ++expert)
      if (bound.experts.has(layer, expert)) add(cost, bound.experts.layout(layer, expert));
  return cost;
}

}  // namespace sluice
