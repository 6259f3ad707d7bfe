// What every sub-layer of the forward pass works with.
#pragma once

#include "compute/ops.h"
#include "models/common/mla.h"
#include "models/glm_dsa/config.h"
#include "models/model.h"

namespace sluice::glm_dsa {

// One pass over the rows of a batch. Sub-layers read x [rows, hidden], the normed residual, and leave in output
// [rows, hidden] what is added to it.
struct Pass {
  Ops& ops;
  TrunkStore& trunk;
  std::span<const Segment> segments;
  Rows residual, x, output;
  Rows cos, sin;      // [rows, pairs] of the rows' positions
  KeyChoice& choice;  // of the nearest layer with an indexer
  bool leaves_keys;   // false: rows that draft ahead; they see `choice` and are seen by nobody
  const std::function<void(int, const Routes&)>& routed;
  Foresight& foresight;
  const KeysChosen& keys_chosen;
  int rows() const { return x.rows; }
};

// Logs of a sequence's state: latents, and keys of the indexer where there is one.
struct LogPlaces {
  int latent = 0, index = -1;
};

}  // namespace sluice::glm_dsa
