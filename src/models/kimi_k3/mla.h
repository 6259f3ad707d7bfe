// Gated multi-head latent attention without positions (spec 3.4), with the compressed cache and absorbed weights
// of 3.6.
//
// Per token only the normed latent c and the shared key part r are kept; keys and values are never expanded. Prefill
// and decode use the same form, because another form is another rounding.
#pragma once

#include <vector>

#include "compute/workspace.h"
#include "models/kimi_k3/census.h"
#include "models/kimi_k3/parts.h"

namespace sluice::kimi_k3 {

class Mla {
 public:
  Mla(const KimiK3Config& config, Workspace& work, int rows);

  // Reads the stream, appends to the cache of all segments, leaves W_o y in pass.output.
  Result<> run(Pass& pass, int layer, int first_step, bool close_block);

 private:
  void project(Pass& pass, int layer, const Lease& w);  // q; c and r into the cache
  void absorb(Pass& pass, const WeightView& kv_b);      // q̂_h = U_hᵀ q_h
  void attend(Pass& pass, int layer);                   // ĉ_h
  void expand(Pass& pass, const WeightView& kv_b);      // o_h = V_h ĉ_h

  const KimiK3Config& config_;
  Rows q_low_, q_, latent_, query_, context_, out_, gate_, gain_;
  std::vector<Product> products_;
};

}  // namespace sluice::kimi_k3
