// See released_olmoe.h.
#include "support/released_olmoe.h"

namespace sluice::test {

nlohmann::json released_olmoe_config() {
  return nlohmann::json::parse(R"json({
    "architectures": ["OlmoeForCausalLM"], "model_type": "olmoe", "vocab_size": 50304, "hidden_size": 2048,
    "intermediate_size": 1024, "num_hidden_layers": 16, "num_attention_heads": 16, "num_key_value_heads": 16,
    "num_experts": 64, "num_experts_per_tok": 8, "norm_topk_prob": false, "hidden_act": "silu", "rms_norm_eps": 1e-05,
    "rope_theta": 10000.0, "rope_scaling": null, "max_position_embeddings": 4096, "clip_qkv": null,
    "attention_bias": false, "attention_dropout": 0.0, "tie_word_embeddings": false, "eos_token_id": 50279,
    "pad_token_id": 1, "router_aux_loss_coef": 0.01, "output_router_logits": false, "initializer_range": 0.02,
    "use_cache": true, "torch_dtype": "bfloat16"
  })json");
}

}  // namespace sluice::test
