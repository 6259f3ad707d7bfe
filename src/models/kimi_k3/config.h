// config.json of Kimi K3, with every rule of spec section 1.3. Names are the file's.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice::kimi_k3 {

struct KimiK3Config {
  int vocab_size = 0, hidden_size = 0, num_hidden_layers = 0, intermediate_size = 0;
  float rms_norm_eps = 0;
  float mla_norm_eps = 1e-6f;  // of q_a_layernorm and kv_a_layernorm; optional key, default as the release's code
  int max_position_embeddings = 0;
  int attn_res_block_size = 0;
  // MLA
  int num_attention_heads = 0, q_lora_rank = 0, kv_lora_rank = 0, qk_nope_head_dim = 0, qk_rope_head_dim = 0,
      v_head_dim = 0;
  std::vector<bool> is_mla;  // by zero-based layer; the file's full_attn_layers are one-based
  // KDA
  int kda_num_heads = 0, kda_head_dim = 0, short_conv_kernel_size = 0;
  float gate_lower_bound = 0;
  // MoE
  int first_k_dense_replace = 0;
  int num_experts = 0, num_experts_per_token = 0, num_shared_experts = 0, moe_intermediate_size = 0,
      routed_expert_hidden_size = 0;
  float routed_scaling_factor = 0;
  bool moe_renormalize = true, latent_moe_use_norm = true;
  // SiTU
  float activation_situ_beta = 0, activation_situ_linear_beta = 0;
  int bos_token_id = 0;
  std::vector<int> stop_ids;  // eos and the other ends of turn and document

  int kda_width() const { return kda_num_heads * kda_head_dim; }
  int qk_head_dim() const { return qk_nope_head_dim + qk_rope_head_dim; }
  int latent_width() const { return kv_lora_rank + qk_rope_head_dim; }  // a row of the MLA cache
  bool is_dense(int layer) const { return layer < first_k_dense_replace; }
  bool is_boundary(int layer) const { return layer % attn_res_block_size == 0; }
};

// Every missing, mistyped or contradictory field in one Error (bad_input). `where` names the file.
Result<KimiK3Config> parse_config(std::string_view json, std::string_view where);

}  // namespace sluice::kimi_k3
