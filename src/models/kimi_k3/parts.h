// What every sub-layer of the forward pass works with.
#pragma once

#include "compute/ops.h"
#include "models/kimi_k3/config.h"
#include "models/kimi_k3/residual_stream.h"
#include "models/model.h"

namespace sluice::kimi_k3 {

// One pass over the rows of a batch. x and output are [rows, hidden] buffers that sub-layers share: the normed input,
// and what goes back into the residual stream.
struct Pass {
  Ops& ops;
  TrunkStore& trunk;
  std::span<const Segment> segments;
  ResidualStream& residual;
  Rows x, output;
  Foresight& foresight;
  int rows() const { return x.rows; }
};

}  // namespace sluice::kimi_k3
