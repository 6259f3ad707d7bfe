// See released_kimi_k3.h.
#include "support/released_kimi_k3.h"

namespace sluice::test {

nlohmann::json released_kimi_k3_config() {
  nlohmann::json config = nlohmann::json::parse(R"json({
    "architectures": ["KimiK3ForConditionalGeneration"], "model_type": "kimi_k3", "dtype": "bfloat16",
    "bos_token_id": 163584, "eos_token_id": 163586, "pad_token_id": 163839, "ignore_index": -100,
    "image_placeholder": "<|kimi_image_placeholder|>", "media_placeholder_token_id": 163605,
    "tie_word_embeddings": false,
    "text_config": {
      "architectures": ["KimiLinearForCausalLM"], "model_type": "kimi_linear", "vocab_size": 163840,
      "hidden_size": 7168, "num_hidden_layers": 93, "num_attention_heads": 96, "num_key_value_heads": 96,
      "intermediate_size": 33792, "hidden_act": "situ", "activation_situ_beta": 4.0,
      "activation_situ_linear_beta": 25.0, "rms_norm_eps": 1e-05, "initializer_range": 0.02,
      "max_position_embeddings": 1048576, "attn_res_block_size": 12, "q_lora_rank": 1536, "kv_lora_rank": 512,
      "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "mla_use_nope": true,
      "mla_use_output_gate": true, "num_experts": 896, "num_experts_per_token": 16, "num_shared_experts": 2,
      "moe_intermediate_size": 3072, "routed_expert_hidden_size": 3584, "latent_moe_use_norm": true,
      "moe_renormalize": true, "moe_router_activation_func": "sigmoid", "routed_scaling_factor": 1.0,
      "first_k_dense_replace": 1, "moe_layer_freq": 1, "use_grouped_topk": true, "num_expert_group": 1,
      "topk_group": 1, "topk_method": "noaux_tc", "num_nextn_predict_layers": 0, "tie_word_embeddings": false,
      "use_cache": true, "bos_token_id": 163584, "eos_token_id": 163586, "pad_token_id": 163839,
      "transformers_version": "4.56.2",
      "linear_attn_config": {
        "full_attn_layers": [4,8,12,16,20,24,28,32,36,40,44,48,52,56,60,64,68,72,76,80,84,88,92,93],
        "num_heads": 96, "head_dim": 128, "short_conv_kernel_size": 4, "gate_lower_bound": -5.0,
        "use_full_rank_gate": true
      },
      "quantization_config": {
        "quant_method": "compressed-tensors", "format": "mxfp4-pack-quantized",
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": {
          "num_bits": 4, "type": "float", "group_size": 32, "strategy": "group", "symmetric": true,
          "scale_dtype": "torch.uint8", "dynamic": false, "observer": "minmax"}, "input_activations": null}},
        "kv_cache_scheme": null
      }
    },
    "vision_config": {"patch_size": 14, "vt_hidden_size": 1024, "vt_num_hidden_layers": 27}
  })json");
  nlohmann::json& kinds = config["text_config"]["linear_attn_config"];
  for (int layer = 1; layer <= 93; ++layer)
    if (layer % 4 != 0 && layer != 93) kinds["kda_layers"].push_back(layer);
  return config;
}

}  // namespace sluice::test
