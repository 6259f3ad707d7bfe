// Gated multi-head latent attention without positions (spec 3.4), over the shared part of models/common (3.6).
#pragma once

#include "compute/workspace.h"
#include "models/common/mla.h"
#include "models/kimi_k3/census.h"
#include "models/kimi_k3/parts.h"

namespace sluice::kimi_k3 {

class Mla {
 public:
  Mla(const KimiK3Config& config, Workspace& work, int rows);

  // Reads the stream, appends to the cache of all segments, leaves W_o y in pass.output.
  Result<> run(Pass& pass, int layer, int first_step, bool close_block);

 private:
  WideRows wide_;
  MlaHeads heads_;
  Rows gate_;
};

}  // namespace sluice::kimi_k3
