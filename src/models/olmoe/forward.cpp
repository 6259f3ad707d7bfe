// See forward.h. Section numbers are the specification's.
#include "models/olmoe/forward.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "models/common/append_rows.h"
#include "models/common/blocks.h"
#include "models/common/head.h"
#include "models/olmoe/census.h"

namespace sluice::olmoe {

// 3. The whole model: h = embed[token]; h += attention(h) and h += experts(h) in every layer; logits of the norm of h.
Result<> Olmoe::run_layers(const ForwardBatch& batch) {
  const int rows = static_cast<int>(batch.tokens.size());
  SLUICE_CHECK(rows >= 1 && rows <= max_rows_);
  b_ = first_rows(all_, rows, config_.num_experts_per_tok);
  for (const Segment& segment : batch.segments)
    angles_.fill(segment.state->length(), b_.cos.slice(segment.first_row, segment.rows),
                 b_.sin.slice(segment.first_row, segment.rows));

  TRY(parts_.embedding->read(batch.tokens, b_.h));
  foresight_.begin(batch.foreseen);
  for (int layer = 0; layer < layers_; ++layer) {
    TRY(batch.still_wanted());
    {
      TRY_TAKE(const Lease w, parts_.trunk->acquire(layer));
      foresight_.note(b_.h);
      if (parts_.expects(rows)) expect_experts(*parts_.ops, *parts_.experts, layer, score(w, b_.h));
      attention(layer, w, batch);
      foresight_.note(b_.h);
      foresight_.ask(*parts_.ops, layer, [&](Rows earlier, int) { return score(w, earlier); });
      chooser_.choose(*parts_.ops, score(w, b_.h));
    }
    const Routes& routes = chooser_.routes();
    if (batch.routed) batch.routed(layer, routes);
    TRY(experts(layer, routes));
    if (batch.after_layer) batch.after_layer(layer, b_.h);
  }
  return head(batch);
}

// x = RMSNorm(h); q = RMSNorm(W_q x), k = RMSNorm(W_k x), v = W_v x, each norm over all heads together; clip; rotate q
// and k; h += W_o softmax(q · k / sqrt(head_dim)) v.
void Olmoe::attention(int layer, const Lease& w, const ForwardBatch& batch) {
  Ops& ops = *parts_.ops;
  const int head_dim = config_.head_dim();
  const Rows k = b_.kv.columns(0, config_.kv_width()), v = b_.kv.columns(config_.kv_width(), config_.kv_width());

  norm(b_.h, w[layer_step::input_norm], b_.x);
  const Product qkv[] = {
      {w[layer_step::q_proj], b_.x, b_.q}, {w[layer_step::k_proj], b_.x, k}, {w[layer_step::v_proj], b_.x, v}};
  ops.matmul(qkv);
  norm(b_.q, w[layer_step::q_norm], b_.q);
  norm(k, w[layer_step::k_norm], k);
  if (config_.clip_qkv)
    for (const Rows& clipped : {b_.q, k, v}) ops.clamp(clipped, *config_.clip_qkv);
  for (const Rows& turned : {b_.q, k}) ops.rope({turned, head_dim, 0, RopeLayout::half_split, b_.cos, b_.sin});

  append_rows(batch.segments, layer, b_.kv);  // before anyone attends: a row sees itself
  const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
  for (const Segment& segment : batch.segments)
    ops.head_attention({b_.q.slice(segment.first_row, segment.rows),
                        wide_.pages(segment.state->log(layer), segment.state->length() + segment.rows),
                        segment.state->length(), config_.num_attention_heads, config_.num_key_value_heads, head_dim,
                        scale, b_.attended.slice(segment.first_row, segment.rows)});

  const Product out[] = {{w[layer_step::o_proj], b_.attended, b_.y}};
  ops.matmul(out);
  ops.add(b_.y, b_.h);
}

// x = RMSNorm(h); p = softmax(W_gate x) over all experts; the top_k largest work, with weight p or, if norm_topk_prob,
// p over their sum.
RouterScores Olmoe::score(const Lease& w, Rows h) {
  norm(h, w[layer_step::post_norm], b_.x);
  const Product logits[] = {{w[layer_step::router], b_.x, b_.p}};
  parts_.ops->matmul(logits);
  parts_.ops->softmax(b_.p);
  return {b_.p, {}, {.top_k = config_.num_experts_per_tok, .renormalize = config_.norm_topk_prob}};
}

// h += Σ w_e · W_down (silu(W_gate x) · W_up x) over the chosen experts.
Result<> Olmoe::experts(int layer, const Routes& routes) {
  runner_->start(layer, b_.x, routes, b_.outputs);
  TRY(runner_->finish(b_.y));
  parts_.ops->add(b_.y, b_.h);
  return {};
}

// logits = W_head RMSNorm(h), of the rows that asked.
Result<> Olmoe::head(const ForwardBatch& batch) {
  if (batch.logit_rows.empty()) return {};
  {
    TRY_TAKE(const Lease w, parts_.trunk->acquire(layers_));
    norm(b_.h, w[norm_step::norm], b_.x);
  }
  return project_logits(*parts_.ops, *parts_.trunk, {layers_ + 1, head_slices_}, b_.x, batch.logit_rows, batch.logits);
}

void Olmoe::norm(Rows from, const WeightView& weight, Rows to) {
  parts_.ops->rms_norm(from, weight, config_.rms_norm_eps, to);
}

// What is around the formulas -----------------------------------------------------------------------------------------

Olmoe::Olmoe(const OlmoeConfig& config, int layers, int max_rows, const ModelParts& parts)
    : config_(config),
      layers_(layers),
      max_rows_(max_rows),
      parts_(parts),
      angles_(config.rope_theta, config.head_dim()),
      head_slices_(head_slice_rows({config.vocab_size, config.hidden_size})),
      work_(scratch_bytes(config, max_rows)),
      all_(lay_out(config_, work_, max_rows)) {
  ram_.emplace(*parts.ops, *parts.experts, swiglu_expert(config_.hidden_size, config_.intermediate_size), work_,
               max_rows);
  runner_.emplace(*parts.ops, std::vector<ExpertTier*>{&*ram_});
}

Result<> Olmoe::forward(const ForwardBatch& batch) {
  Result<> outcome = run_layers(batch);
  if (!outcome)
    for (const Segment& segment : batch.segments) segment.state->mark_broken();
  return outcome;
}

StateShape Olmoe::state_shape(const OlmoeConfig& config, int layers) {
  const auto count = static_cast<std::size_t>(layers);
  return {.recurrent_floats = std::vector<std::uint64_t>(count, 0),
          .logs = std::vector<LogShape>(count, 2 * config.kv_width())};
}

std::uint64_t Olmoe::scratch_bytes(const OlmoeConfig& config, int max_rows) {
  Workspace counting;
  lay_out(config, counting, max_rows);
  RamTier::measure(swiglu_expert(config.hidden_size, config.intermediate_size), counting, max_rows);
  return counting.peak_bytes();
}

// What attention and what the experts need is never alive together.
Olmoe::Buffers Olmoe::lay_out(const OlmoeConfig& config, Workspace& work, int max_rows) {
  const int hidden = config.hidden_size;
  Buffers b;
  b.h = work.rows(max_rows, hidden);
  b.x = work.rows(max_rows, hidden);
  b.y = work.rows(max_rows, hidden);
  b.cos = work.rows(max_rows, config.head_dim() / 2);
  b.sin = work.rows(max_rows, config.head_dim() / 2);
  const std::uint64_t shared = work.mark();
  b.q = work.rows(max_rows, hidden);
  b.attended = work.rows(max_rows, hidden);
  b.kv = work.rows(max_rows, 2 * config.kv_width());
  work.rewind(shared);
  b.p = work.rows(max_rows, config.num_experts);
  b.outputs = work.rows(max_rows * config.num_experts_per_tok, hidden);
  return b;
}

Olmoe::Buffers Olmoe::first_rows(const Buffers& all, int rows, int top_k) {
  const auto of = [rows](const Rows& buffer) { return buffer.slice(0, rows); };
  return {of(all.h), of(all.x),        of(all.y),  of(all.cos), of(all.sin),
          of(all.q), of(all.attended), of(all.kv), of(all.p),   all.outputs.slice(0, rows * top_k)};
}

}  // namespace sluice::olmoe
