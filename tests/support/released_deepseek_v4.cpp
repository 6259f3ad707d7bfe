// See released_deepseek_v4.h.
#include "support/released_deepseek_v4.h"

#include <utility>
#include <vector>

namespace sluice::test {

namespace {

// What both say, and the layers: `first` of them, then 4 and 128 in turn, a last 4, and the MTP block's 0.
nlohmann::json released_config(std::vector<int> first, int pairs) {
  nlohmann::json config = nlohmann::json::parse(R"json({
    "architectures": ["DeepseekV4ForCausalLM"], "model_type": "deepseek_v4", "vocab_size": 129280, "bos_token_id": 0,
    "eos_token_id": 1, "tie_word_embeddings": false, "torch_dtype": "bfloat16", "head_dim": 512, "qk_rope_head_dim": 64,
    "num_key_value_heads": 1, "o_lora_rank": 1024, "index_head_dim": 128, "index_n_heads": 64, "sliding_window": 128,
    "hc_mult": 4, "hc_sinkhorn_iters": 20, "hc_eps": 1e-6, "rms_norm_eps": 1e-6, "n_shared_experts": 1,
    "num_experts_per_tok": 6, "num_hash_layers": 3, "num_nextn_predict_layers": 1, "scoring_func": "sqrtsoftplus",
    "topk_method": "noaux_tc", "norm_topk_prob": true, "swiglu_limit": 10.0, "hidden_act": "silu",
    "expert_dtype": "fp4", "attention_bias": false, "attention_dropout": 0.0, "initializer_range": 0.02,
    "use_cache": true, "max_position_embeddings": 1048576, "rope_theta": 10000, "compress_rope_theta": 160000,
    "rope_scaling": {"type": "yarn", "factor": 16, "original_max_position_embeddings": 65536, "beta_fast": 32,
                     "beta_slow": 1},
    "quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "scale_fmt": "ue8m0",
                            "activation_scheme": "dynamic", "weight_block_size": [128, 128]},
    "transformers_version": "4.57.1"
  })json");
  for (int pair = 0; pair < pairs; ++pair) first.insert(first.end(), {4, 128});
  first.insert(first.end(), {4, 0});
  config["num_hidden_layers"] = first.size() - 1;
  config["compress_ratios"] = first;
  return config;
}

}  // namespace

nlohmann::json released_v4_flash_config() {
  nlohmann::json config = released_config({0, 0}, 20);
  config.update({{"hidden_size", 4096},
                 {"num_attention_heads", 64},
                 {"q_lora_rank", 1024},
                 {"o_groups", 8},
                 {"n_routed_experts", 256},
                 {"moe_intermediate_size", 2048},
                 {"routed_scaling_factor", 1.5},
                 {"index_topk", 512}});
  return config;
}

nlohmann::json released_v4_pro_config() {
  nlohmann::json config = released_config({128, 128}, 29);
  config.update({{"hidden_size", 7168},
                 {"num_attention_heads", 128},
                 {"q_lora_rank", 1536},
                 {"o_groups", 16},
                 {"n_routed_experts", 384},
                 {"moe_intermediate_size", 3072},
                 {"routed_scaling_factor", 2.5},
                 {"index_topk", 1024}});
  return config;
}

}  // namespace sluice::test
