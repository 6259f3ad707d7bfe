// See mla.h.
#include "models/kimi_k3/mla.h"

#include <cmath>

namespace sluice::kimi_k3 {

namespace {

MlaShape mla_shape(const KimiK3Config& config) {
  return {.heads = config.num_attention_heads,
          .q_rank = config.q_lora_rank,
          .latent = config.kv_lora_rank,
          .nope = config.qk_nope_head_dim,
          .rope = config.qk_rope_head_dim,  // neither normed nor rotated
          .value = config.v_head_dim,
          .norm_eps = config.mla_norm_eps,
          .scale = 1.0f / std::sqrt(static_cast<float>(config.qk_head_dim()))};
}

}  // namespace

Mla::Mla(const KimiK3Config& config, Workspace& work, int rows)
    : heads_(mla_shape(config), work, rows, wide_),
      gate_(work.rows(rows, config.num_attention_heads * config.v_head_dim)) {}

Result<> Mla::run(Pass& pass, int layer, int first_step, bool close_block) {
  {
    TRY_TAKE(const Lease w, pass.trunk.acquire(first_step));
    pass.residual.read(pass.ops, w[mla_in::res_norm], w[mla_in::res_proj], w[mla_in::input_norm], pass.x);
    if (close_block) pass.residual.close_block();
    heads_.project(
        pass.ops, pass.x,
        {w[mla_in::q_a_proj], w[mla_in::q_a_norm], w[mla_in::q_b_proj], w[mla_in::kv_a_proj], w[mla_in::kv_a_norm]});
    heads_.remember(pass.segments, layer);
    heads_.attend(pass.ops, w[mla_in::kv_b_proj], pass.segments, layer, {});
  }
  const Rows out = heads_.out(), gate = gate_.slice(0, pass.rows());
  {
    TRY_TAKE(const Lease w, pass.trunk.acquire(first_step + 1));
    const Product to_gate[] = {{w[mla_gate::g_proj], pass.x, gate}};
    pass.ops.matmul(to_gate);
  }
  pass.ops.gate_sigmoid(gate, out);
  TRY_TAKE(const Lease w, pass.trunk.acquire(first_step + 2));
  const Product to_output[] = {{w[mla_out::o_proj], out, pass.output}};
  pass.ops.matmul(to_output);
  return {};
}

}  // namespace sluice::kimi_k3
