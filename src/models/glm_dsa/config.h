// config.json of GLM-5.2 and of the models that share its skeleton, with every rule of spec section 1. Names are the
// file's.
//
// One set of numbers describes GLM-5, 5.1, 5.2, 5.3, DeepSeek-V3 and Kimi-K2: latent attention with rotary positions, a
// sigmoid router, shared experts, dense first layers. What only some have is optional: the indexer (GLM), YaRN and
// groups of experts (DeepSeek, Kimi-K2), the head that drafts tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "models/common/yarn.h"

namespace sluice::glm_dsa {

struct Yarn : YarnScaling {
  float mscale = 0, mscale_all_dim = 0;
};

struct GlmConfig {
  std::string model_type;
  int vocab_size = 0, hidden_size = 0, num_hidden_layers = 0, intermediate_size = 0;
  float rms_norm_eps = 0;
  float latent_norm_eps = 0;  // of q_a_layernorm and kv_a_layernorm
  int max_position_embeddings = 0;
  // MLA
  int num_attention_heads = 0, q_lora_rank = 0, kv_lora_rank = 0, qk_nope_head_dim = 0, qk_rope_head_dim = 0,
      v_head_dim = 0;
  float rope_theta = 0;
  bool has_yarn = false;
  Yarn yarn = {};
  // Indexer
  bool has_indexer = false;
  int index_n_heads = 0, index_head_dim = 0, index_topk = 0;
  float index_k_norm_eps = 1e-6f;
  std::vector<bool> has_own_indexer;  // by layer: false reuses the choice of the layer before
  // Feed-forward
  std::vector<bool> is_dense;  // by layer
  int n_routed_experts = 0, num_experts_per_tok = 0, n_shared_experts = 0, moe_intermediate_size = 0;
  int n_group = 1, topk_group = 1;
  float routed_scaling_factor = 0;
  bool norm_topk_prob = true;
  int num_nextn_predict_layers = 0;  // 0 or 1: the draft head is stored as layer num_hidden_layers
  std::vector<int> stop_ids;

  int qk_head_dim() const { return qk_nope_head_dim + qk_rope_head_dim; }
  int latent_width() const { return kv_lora_rank + qk_rope_head_dim; }  // a row of the MLA cache
  int shared_inner() const { return n_shared_experts * moe_intermediate_size; }
  // The draft head, as layer num_hidden_layers, has its own indexer and is never dense.
  bool owns_indexer(int layer) const {
    return has_indexer && (layer == num_hidden_layers || has_own_indexer[static_cast<std::size_t>(layer)]);
  }
  bool dense(int layer) const { return layer < num_hidden_layers && is_dense[static_cast<std::size_t>(layer)]; }
  bool has_draft_head() const { return num_nextn_predict_layers == 1; }
  float softmax_scale() const;  // (nope + rope)^-1/2, with YaRN's correction
};

// model_type of a model that this family runs, or that it knows well enough to say why not.
bool knows(std::string_view model_type);

// Every missing, mistyped or contradictory field in one Error (bad_input); a relative that is not run: unsupported.
// `where` names the file.
Result<GlmConfig> parse_config(std::string_view json, std::string_view where);

}  // namespace sluice::glm_dsa
