// config.json of OLMoE, with every rule of spec section 1. Names are the file's.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice::olmoe {

struct OlmoeConfig {
  int vocab_size = 0, hidden_size = 0, num_hidden_layers = 0;
  int num_attention_heads = 0, num_key_value_heads = 0;
  int intermediate_size = 0;  // of one expert
  int num_experts = 0, num_experts_per_tok = 0;
  bool norm_topk_prob = false;
  float rms_norm_eps = 0;
  double rope_theta = 0;
  std::optional<float> clip_qkv;
  int max_position_embeddings = 0;
  std::vector<int> stop_ids;

  int head_dim() const { return hidden_size / num_attention_heads; }
  int kv_width() const { return num_key_value_heads * head_dim(); }
};

// Every missing, mistyped or contradictory field in one Error (bad_input). `where` names the file.
Result<OlmoeConfig> parse_config(std::string_view json, std::string_view where);

}  // namespace sluice::olmoe
