// See mla.h.
#include "models/kimi_k3/mla.h"

#include <algorithm>
#include <cmath>

#include "models/common/vectors.h"

namespace sluice::kimi_k3 {

Mla::Mla(const KimiK3Config& config, Workspace& work, int rows) : config_(config) {
  const int heads = config.num_attention_heads;
  q_low_ = work.rows(rows, config.q_lora_rank);
  q_ = work.rows(rows, heads * config.qk_head_dim());
  latent_ = work.rows(rows, config.latent_width());
  query_ = work.rows(rows, heads * config.latent_width());
  context_ = work.rows(rows, heads * config.kv_lora_rank);
  out_ = work.rows(rows, heads * config.v_head_dim);
  gate_ = work.rows(rows, heads * config.v_head_dim);
  gain_ = work.rows(1, std::max(config.q_lora_rank, config.kv_lora_rank));
}

Result<> Mla::run(Pass& pass, int layer, int first_step, bool close_block) {
  {
    TRY_TAKE(const Lease w, pass.trunk.acquire(first_step));
    pass.residual.read(pass.ops, w[mla_in::res_norm], w[mla_in::res_proj], w[mla_in::input_norm], pass.x);
    if (close_block) pass.residual.close_block();
    project(pass, layer, w);
    absorb(pass, w[mla_in::kv_b_proj]);
    attend(pass, layer);
    expand(pass, w[mla_in::kv_b_proj]);
  }
  TRY_TAKE(const Lease w, pass.trunk.acquire(first_step + 1));
  const Rows out = out_.slice(0, pass.rows()), gate = gate_.slice(0, pass.rows());
  const Product to_gate[] = {{w[mla_out::g_proj], pass.x, gate}};
  pass.ops.matmul(to_gate);
  pass.ops.gate_sigmoid(gate, out);
  const Product to_output[] = {{w[mla_out::o_proj], out, pass.output}};
  pass.ops.matmul(to_output);
  return {};
}

void Mla::project(Pass& pass, int layer, const Lease& w) {
  const Rows q_low = q_low_.slice(0, pass.rows()), latent = latent_.slice(0, pass.rows());
  const Product from_x[] = {{w[mla_in::q_a_proj], pass.x, q_low}, {w[mla_in::kv_a_proj], pass.x, latent}};
  pass.ops.matmul(from_x);
  pass.ops.rms_norm(q_low, decode_vector(w[mla_in::q_a_norm], gain_), config_.mla_norm_eps, q_low);
  const Product from_low[] = {{w[mla_in::q_b_proj], q_low, q_.slice(0, pass.rows())}};
  pass.ops.matmul(from_low);
  const Rows c = latent.columns(0, config_.kv_lora_rank);  // r, the rest of the row, is neither normed nor rotated
  pass.ops.rms_norm(c, decode_vector(w[mla_in::kv_a_norm], gain_), config_.mla_norm_eps, c);
  for (const Segment& segment : pass.segments)
    for (int row = 0; row < segment.rows; ++row)
      std::ranges::copy(latent[segment.first_row + row],
                        segment.state->log(layer).row(segment.state->length() + row).begin());
}

void Mla::absorb(Pass& pass, const WeightView& kv_b) {
  const int nope = config_.qk_nope_head_dim, rope = config_.qk_rope_head_dim, value = config_.v_head_dim;
  const Rows q = q_.slice(0, pass.rows()), query = query_.slice(0, pass.rows());
  products_.clear();
  for (int head = 0; head < config_.num_attention_heads; ++head) {
    const Rows q_head = q.columns(head * (nope + rope), nope + rope);
    const Rows query_head = query.columns(head * config_.latent_width(), config_.latent_width());
    products_.push_back({kv_b.row_slice(head * (nope + value), nope), q_head.columns(0, nope),
                         query_head.columns(0, config_.kv_lora_rank)});
    for (int row = 0; row < pass.rows(); ++row)
      std::ranges::copy(q_head.columns(nope, rope)[row], query_head.columns(config_.kv_lora_rank, rope)[row].begin());
  }
  pass.ops.matmul_transposed(products_);
}

void Mla::attend(Pass& pass, int layer) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(config_.qk_head_dim()));
  for (const Segment& segment : pass.segments)
    pass.ops.latent_attention({query_.slice(segment.first_row, segment.rows), segment.state->log(layer).pages(),
                               segment.state->length(), config_.num_attention_heads, config_.kv_lora_rank,
                               config_.qk_rope_head_dim, scale, context_.slice(segment.first_row, segment.rows)});
}

void Mla::expand(Pass& pass, const WeightView& kv_b) {
  const int nope = config_.qk_nope_head_dim, value = config_.v_head_dim;
  const Rows context = context_.slice(0, pass.rows()), out = out_.slice(0, pass.rows());
  products_.clear();
  for (int head = 0; head < config_.num_attention_heads; ++head)
    products_.push_back({kv_b.row_slice(head * (nope + value) + nope, value),
                         context.columns(head * config_.kv_lora_rank, config_.kv_lora_rank),
                         out.columns(head * value, value)});
  pass.ops.matmul(products_);
}

}  // namespace sluice::kimi_k3
