// The attention half of a layer: latent attention with rotary positions over the keys that an indexer has chosen
// (spec 3.3 to 3.5).
//
// Rotated pairs stay in place: pair j is numbers 2 j and 2 j + 1 of the rotated part, in the cache too.
#pragma once

#include "models/glm_dsa/indexer.h"

namespace sluice::glm_dsa {

class Attention {
 public:
  Attention(const GlmConfig& config, Workspace& work, int rows);

  // Reads pass.residual, appends to the logs of all segments unless the pass leaves no keys, leaves W_o y in
  // pass.output. A layer without an indexer uses pass.choice as it finds it.
  Result<> run(Pass& pass, int layer, LogPlaces logs, int first_step);

 private:
  const GlmConfig& config_;
  WideRows wide_;
  MlaHeads heads_;
  Indexer indexer_;
};

}  // namespace sluice::glm_dsa
