// Kimi Delta Attention (spec 3.3): a gated delta rule with one matrix of memory per head instead of cached keys.
#pragma once

#include "compute/workspace.h"
#include "models/kimi_k3/census.h"
#include "models/kimi_k3/parts.h"

namespace sluice::kimi_k3 {

class Kda {
 public:
  Kda(const KimiK3Config& config, Workspace& work, int rows);

  // Reads the stream, advances the states of all segments, leaves W_o y in pass.output. `close_block`: spec 3.1's
  // boundary.
  Result<> run(Pass& pass, int layer, int first_step, bool close_block);

  // Floats of one layer's state: S [heads, dim, dim], then the last kernel - 1 inputs of the q, k and v convolutions.
  static std::uint64_t state_floats(const KimiK3Config& config);

 private:
  void project(Pass& pass, int layer, int stream, const Lease& w);  // steps 1, 2, 3 for q, k or v
  void normalise(Pass& pass);                                       // step 4
  void gates(Pass& pass, const Lease& w);                           // steps 5, 6, and W_g x
  void recur(Pass& pass, int layer);                                // step 7
  void normalise_and_gate(Pass& pass, const Lease& w);              // step 8

  const KimiK3Config& config_;
  Rows raw_q_, raw_k_, raw_v_;  // before the convolution
  Rows q_, k_, v_;
  Rows decay_low_, beta_, taps_, vector_;
  // Buffers that live after the convolution take the place of its inputs.
  Rows z_and_out_, alpha_, gate_;
};

}  // namespace sluice::kimi_k3
