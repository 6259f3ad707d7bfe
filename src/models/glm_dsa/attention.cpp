// See attention.h.
#include "models/glm_dsa/attention.h"

namespace sluice::glm_dsa {

namespace {

MlaShape mla_shape(const GlmConfig& config) {
  return {.heads = config.num_attention_heads,
          .q_rank = config.q_lora_rank,
          .latent = config.kv_lora_rank,
          .nope = config.qk_nope_head_dim,
          .rope = config.qk_rope_head_dim,
          .value = config.v_head_dim,
          .norm_eps = config.latent_norm_eps,
          .scale = config.softmax_scale()};
}

}  // namespace

Attention::Attention(const GlmConfig& config, Workspace& work, int rows)
    : config_(config), heads_(mla_shape(config), work, rows, wide_), indexer_(config, work, rows, wide_) {}

Result<> Attention::run(Pass& pass, int layer, LogPlaces logs, int first_step) {
  {
    TRY_TAKE(const Lease w, pass.trunk.acquire(first_step));
    pass.ops.rms_norm(pass.residual, w[attention_in::input_norm], config_.rms_norm_eps, pass.x);
    const MlaWeights weights{w[attention_in::q_a_proj], w[attention_in::q_a_norm], w[attention_in::q_b_proj],
                             w[attention_in::kv_a_proj], w[attention_in::kv_a_norm]};
    const auto rotate = [&](Rows x, int head_width, int first) {
      pass.ops.rope({x, head_width, first, RopeLayout::interleaved, pass.cos, pass.sin});
    };
    if (pass.leaves_keys) {
      heads_.project(pass.ops, pass.x, weights);
      rotate(heads_.key_rope(), config_.qk_rope_head_dim, 0);
      heads_.remember(pass.segments, logs.latent);
      if (config_.owns_indexer(layer)) indexer_.run(pass, layer, logs.index, w, heads_.q_latent());
    } else {
      heads_.project_query(pass.ops, pass.x, weights);
    }
    rotate(heads_.query(), config_.qk_head_dim(), config_.qk_nope_head_dim);
    heads_.attend(pass.ops, w[attention_in::kv_b_proj], pass.segments, logs.latent, pass.choice);
  }
  TRY_TAKE(const Lease w, pass.trunk.acquire(first_step + 1));
  const Product to_output[] = {{w[attention_out::o_proj], heads_.out(), pass.output}};
  pass.ops.matmul(to_output);
  return {};
}

}  // namespace sluice::glm_dsa
