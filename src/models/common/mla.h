// Multi-head latent attention with absorbed weights and a cache of latents, as Kimi K3 and the GLM family share it.
//
// Per token only the normed latent c and the shared key part r are kept; keys and values are never expanded. Prefill
// and decode use the same form, because another form is another rounding. What families add (positions, gates, a choice
// of keys) they do between these steps:
//   project:  cq = norm(W_qa x), q = W_qb cq, [c | r] = W_kva x with c normed
//   remember: c | r of every row into the cache
//   attend:   q̂_h = U_hᵀ q_h; ĉ_h = softmax over the cache; o_h = V_h ĉ_h, with kv_b = per head U_h, then V_h
// Rows of q are per head [nope | rope]. Engine thread only; buffers hold one pass.
#pragma once

#include <span>
#include <vector>

#include "compute/ops.h"
#include "compute/workspace.h"
#include "models/common/key_choice.h"
#include "models/common/wide_rows.h"
#include "models/model.h"

namespace sluice {

struct MlaShape {
  int heads = 0, q_rank = 0, latent = 0, nope = 0, rope = 0, value = 0;
  float norm_eps = 0;  // of the two latent norms
  float scale = 1;     // of the scores

  int q_width() const { return heads * (nope + rope); }
  int cache_width() const { return latent + rope; }
};

struct MlaWeights {
  WeightView q_a_proj, q_a_norm, q_b_proj, kv_a_proj, kv_a_norm;
};

class MlaHeads {
 public:
  // `wide` outlives it.
  MlaHeads(const MlaShape& shape, Workspace& work, int rows, WideRows& wide);

  void project(Ops& ops, Rows x, const MlaWeights& w);
  // Only q: for rows that leave no trace in the cache.
  void project_query(Ops& ops, Rows x, const MlaWeights& w);
  // Of the last project.
  Rows q_latent() const { return q_low_.slice(0, rows_); }  // normed
  Rows query() const { return q_.slice(0, rows_); }         // per head [nope | rope]
  Rows key_rope() const { return latent_.slice(0, rows_).columns(shape_.latent, shape_.rope); }

  // Into log `log` of each segment's state, behind what is committed.
  void remember(std::span<const Segment> segments, int log);
  // Over what the logs hold; leaves the heads' outputs [rows, heads * value] in out().
  void attend(Ops& ops, const WeightView& kv_b, std::span<const Segment> segments, int log, const KeyChoice& choice);
  Rows out() const { return out_.slice(0, rows_); }

 private:
  void query_from_low(Ops& ops, const MlaWeights& w);
  void absorb(Ops& ops, const WeightView& kv_b);
  void expand(Ops& ops, const WeightView& kv_b);

  MlaShape shape_;
  WideRows& wide_;
  int rows_ = 0;
  Rows q_low_, q_, latent_, query_, context_, out_;
  std::vector<Product> products_;
};

}  // namespace sluice
