// Residual streams and how sub-layers are tied to them (mHC, spec 3.2 and 3.9).
//
// A sub-layer reads a mixture of the streams; its output is spread over them while they are mixed with each other by a
// matrix that Sinkhorn's iteration has made nearly doubly stochastic. All weights of a row come from its own streams:
//   m = fn · flat(X) / rms(flat(X))
//   pre, post, c  from m, and x = Σ_i pre_i X_i
//   X'_k = post_k o + Σ_j c_jk X_j
#pragma once

#include <vector>

#include "compute/workspace.h"
#include "models/deepseek_v4/parts.h"

namespace sluice::deepseek_v4 {

// fn [(2 + hc) hc, hc · hidden], base [(2 + hc) hc], scale [3]; of the head: [hc, …], [hc], [1].
struct SiteWeights {
  WeightView fn, base, scale;
};

class HyperConnections {
 public:
  HyperConnections(const V4Config& config, Workspace& work, int rows);

  // x [rows, hidden] becomes the sub-layer's input, not normed. Keeps post and c for join.
  void part(Ops& ops, Rows streams, const SiteWeights& w, Rows x);
  // Streams become X', from the output of the sub-layer that part has begun.
  void join(Ops& ops, Rows output, Rows streams);
  // x = Σ_i a_i X_i before the head: no Sinkhorn, nothing to join.
  void collapse(Ops& ops, Rows streams, const SiteWeights& w, Rows x);

 private:
  void weigh(Ops& ops, Rows streams, const SiteWeights& w, int count, Rows weights);
  void sum(Ops& ops, Rows streams, Rows x);

  const V4Config& config_;
  Rows mixes_, inverse_rms_, weights_, base_, scale_;  // weights_ [rows, post | c]: see Ops::mix_streams
  std::vector<float> pre_;                             // [rows, hc_mult]
};

}  // namespace sluice::deepseek_v4
