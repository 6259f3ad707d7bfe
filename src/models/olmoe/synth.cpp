// See synth.h. Names, shapes and types: spec section 2; config: section 1.
#include "models/olmoe/synth.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "models/common/synth_family.h"
#include "models/common/synth_shard.h"

namespace sluice::olmoe {
namespace {

using Json = nlohmann::ordered_json;

struct Sizes {
  int layers, experts, top_k, positions, vocab, stop;
  int hidden, inner, heads, kv_heads;

  int kv_width() const { return hidden / heads * kv_heads; }
};

constexpr Sizes kTiny = {.layers = 6,
                         .experts = 12,
                         .top_k = 3,
                         .positions = 4096,
                         .vocab = 768,
                         .stop = 763,
                         .hidden = 200,
                         .inner = 112,
                         .heads = 10,
                         .kv_heads = 5};
constexpr Sizes kFull = {.layers = 16,
                         .experts = 64,
                         .top_k = 8,
                         .positions = 4096,
                         .vocab = 50304,
                         .stop = 50279,
                         .hidden = 2048,
                         .inner = 1024,
                         .heads = 16,
                         .kv_heads = 16};

std::vector<SynthTensor> layer_shard(const Sizes& s, int layer) {
  std::vector<SynthTensor> tensors;
  const std::string prefix = fmt::format("model.layers.{}.", layer);
  SynthShard block(tensors, prefix), attention(tensors, prefix + "self_attn."), mlp(tensors, prefix + "mlp.");
  block.norm("input_layernorm", s.hidden);
  block.norm("post_attention_layernorm", s.hidden);
  attention.matrix("q_proj", s.hidden, s.hidden, 1);
  attention.matrix("k_proj", s.kv_width(), s.hidden, 1);
  attention.matrix("v_proj", s.kv_width(), s.hidden, 1);
  attention.matrix("o_proj", s.hidden, s.hidden, 1);
  attention.norm("q_norm", s.hidden);
  attention.norm("k_norm", s.kv_width());
  mlp.matrix("gate", s.experts, s.hidden, 2);
  for (int expert = 0; expert < s.experts; ++expert)
    mlp.gated(fmt::format("experts.{}.", expert), s.hidden, s.inner, {2, 2, 1});
  return tensors;
}

Json config_of(const Sizes& s, const SynthOptions& options) {
  return {
      {"architectures", {"OlmoeForCausalLM"}},
      {"model_type", "olmoe"},
      {"sluice_synth", synth_mark(options)},
      {"vocab_size", s.vocab},
      {"hidden_size", s.hidden},
      {"intermediate_size", s.inner},
      {"num_hidden_layers", s.layers},
      {"num_attention_heads", s.heads},
      {"num_key_value_heads", s.kv_heads},
      {"num_experts", s.experts},
      {"num_experts_per_tok", s.top_k},
      {"norm_topk_prob", false},
      {"hidden_act", "silu"},
      {"rms_norm_eps", 1e-05},
      {"rope_theta", 10000.0},
      {"rope_scaling", nullptr},
      {"max_position_embeddings", s.positions},
      {"clip_qkv", nullptr},
      {"attention_bias", false},
      {"attention_dropout", 0.0},
      {"tie_word_embeddings", false},
      {"eos_token_id", s.stop},
      {"pad_token_id", 1},
      {"router_aux_loss_coef", 0.01},
      {"output_router_logits", false},
      {"initializer_range", 0.02},
      {"use_cache", true},
      {"torch_dtype", "bfloat16"},
  };
}

}  // namespace

Result<SynthCheckpoint> synth_checkpoint(const SynthOptions& options) {
  if (options.fp8) return fail(ErrorKind::bad_input, "--fp8: OLMoE has no FP8 release");
  TRY_TAKE(const Sizes sizes, chosen_sizes(kTiny, kFull, options));
  const Json generation = {{"eos_token_id", sizes.stop}, {"pad_token_id", 1}};
  SynthCheckpoint checkpoint = synth_with_configs(config_of(sizes, options), generation, options);
  for (int layer = 0; layer < sizes.layers; ++layer) checkpoint.shards.push_back(layer_shard(sizes, layer));
  checkpoint.shards.push_back(synth_globals(sizes.vocab, sizes.hidden));
  return checkpoint;
}

}  // namespace sluice::olmoe
