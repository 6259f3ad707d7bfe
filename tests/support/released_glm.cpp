// See released_glm.h.
#include "support/released_glm.h"

namespace sluice::test {

nlohmann::json released_glm_config() {
  nlohmann::json config = nlohmann::json::parse(R"json({
    "architectures": ["GlmMoeDsaForCausalLM"], "model_type": "glm_moe_dsa", "dtype": "bfloat16", "vocab_size": 154880,
    "hidden_size": 6144, "intermediate_size": 12288, "moe_intermediate_size": 2048, "num_hidden_layers": 78,
    "first_k_dense_replace": 3, "moe_layer_freq": 1, "num_attention_heads": 64, "num_key_value_heads": 64,
    "head_dim": 192, "q_lora_rank": 2048, "kv_lora_rank": 512, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64,
    "qk_head_dim": 256, "v_head_dim": 256, "attention_bias": false, "attention_dropout": 0.0,
    "rope_parameters": {"rope_theta": 8000000, "rope_type": "default"}, "rope_interleave": true,
    "max_position_embeddings": 1048576, "rms_norm_eps": 1e-05, "hidden_act": "silu", "n_routed_experts": 256,
    "n_shared_experts": 1, "num_experts_per_tok": 8, "n_group": 1, "topk_group": 1, "scoring_func": "sigmoid",
    "topk_method": "noaux_tc", "norm_topk_prob": true, "routed_scaling_factor": 2.5, "moe_router_dtype": "float32",
    "index_n_heads": 32, "index_head_dim": 128, "index_topk": 2048, "index_topk_freq": 4, "index_skip_topk_offset": 3,
    "index_topk_pattern": null, "indexer_rope_interleave": true, "index_share_for_mtp_iteration": true,
    "num_nextn_predict_layers": 1, "tie_word_embeddings": false, "eos_token_id": [154820, 154827, 154829],
    "pad_token_id": 154820, "initializer_range": 0.02, "pretraining_tp": 1, "ep_size": 1, "use_cache": true,
    "transformers_version": "5.12.0"
  })json");
  for (int layer = 0; layer < 78; ++layer) {
    config["mlp_layer_types"].push_back(layer < 3 ? "dense" : "sparse");
    config["indexer_types"].push_back(layer < 3 || layer % 4 == 2 ? "full" : "shared");
  }
  return config;
}

nlohmann::json released_deepseek_v3_config() {
  return nlohmann::json::parse(R"json({
    "architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "torch_dtype": "bfloat16",
    "vocab_size": 129280, "hidden_size": 7168, "intermediate_size": 18432, "moe_intermediate_size": 2048,
    "num_hidden_layers": 61, "first_k_dense_replace": 3, "moe_layer_freq": 1, "num_attention_heads": 128,
    "num_key_value_heads": 128, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "v_head_dim": 128, "attention_bias": false, "rope_theta": 10000,
    "rope_scaling": {"type": "yarn", "factor": 40, "original_max_position_embeddings": 4096, "beta_fast": 32,
                     "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 1.0},
    "max_position_embeddings": 163840, "rms_norm_eps": 1e-06, "hidden_act": "silu", "n_routed_experts": 256,
    "n_shared_experts": 1, "num_experts_per_tok": 8, "n_group": 8, "topk_group": 4, "scoring_func": "sigmoid",
    "topk_method": "noaux_tc", "norm_topk_prob": true, "routed_scaling_factor": 2.5, "num_nextn_predict_layers": 1,
    "tie_word_embeddings": false, "bos_token_id": 0, "eos_token_id": 1,
    "quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]}
  })json");
}

nlohmann::json released_kimi_k2_config() {
  nlohmann::json config = released_deepseek_v3_config();
  config.update(nlohmann::json::parse(R"json({
    "model_type": "kimi_k2", "vocab_size": 163840, "first_k_dense_replace": 1, "num_attention_heads": 64,
    "num_key_value_heads": 64, "rope_theta": 50000.0,
    "rope_scaling": {"type": "yarn", "factor": 32, "original_max_position_embeddings": 4096, "beta_fast": 1.0,
                     "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0},
    "max_position_embeddings": 131072, "n_routed_experts": 384, "n_group": 1, "topk_group": 1,
    "routed_scaling_factor": 2.827, "num_nextn_predict_layers": 0, "bos_token_id": 163584, "eos_token_id": 163585
  })json"));
  return config;
}

}  // namespace sluice::test
