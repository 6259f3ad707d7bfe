// See synth.h. Names, shapes and types: spec section 2.2; config: section 1.1.
#include "models/glm_dsa/synth.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "formats/fp8_block.h"
#include "models/common/synth_family.h"
#include "models/common/synth_shard.h"

namespace sluice::glm_dsa {
namespace {

using Json = nlohmann::ordered_json;

struct Sizes {
  int layers, dense_layers, experts, top_k, positions, vocab, stop;
  int hidden, dense, expert_inner, heads, q_rank, kv_rank, nope, rope, value;
  int index_heads, index_dim, index_topk;
  bool fp8 = false;  // projections are stored in FP8 blocks, what 1.4 excludes is not
};

constexpr Sizes kTiny = {.layers = 8,
                         .dense_layers = 2,
                         .experts = 12,
                         .top_k = 3,
                         .positions = 4096,
                         .vocab = 768,
                         .stop = 740,
                         .hidden = 208,
                         .dense = 336,
                         .expert_inner = 112,
                         .heads = 4,
                         .q_rank = 72,
                         .kv_rank = 48,
                         .nope = 24,
                         .rope = 8,
                         .value = 28,
                         .index_heads = 6,
                         .index_dim = 20,
                         .index_topk = 12};
constexpr Sizes kFull = {.layers = 78,
                         .dense_layers = 3,
                         .experts = 256,
                         .top_k = 8,
                         .positions = 1048576,
                         .vocab = 154880,
                         .stop = 154820,
                         .hidden = 6144,
                         .dense = 12288,
                         .expert_inner = 2048,
                         .heads = 64,
                         .q_rank = 2048,
                         .kv_rank = 512,
                         .nope = 192,
                         .rope = 64,
                         .value = 256,
                         .index_heads = 32,
                         .index_dim = 128,
                         .index_topk = 2048};
constexpr int kIndexFrequency = 4, kIndexOffset = 3;

// 1.3; the draft head, as the layer behind the last, has an indexer always.
bool owns_indexer(const Sizes& s, int layer) {
  return layer == s.layers || std::max(layer - kIndexOffset + 1, 0) % kIndexFrequency == 0;
}
bool is_dense(const Sizes& s, int layer) { return layer < std::min(s.dense_layers, s.layers); }

void synth_attention(SynthShard& out, const Sizes& s, bool indexer) {
  out.linear("q_a_proj", s.q_rank, s.hidden, 1);
  out.norm("q_a_layernorm", s.q_rank);
  out.linear("q_b_proj", s.heads * (s.nope + s.rope), s.q_rank, 1.5);
  out.linear("kv_a_proj_with_mqa", s.kv_rank + s.rope, s.hidden, 1);
  out.norm("kv_a_layernorm", s.kv_rank);
  out.linear("kv_b_proj", s.heads * (s.nope + s.value), s.kv_rank, 1.5);
  out.linear("o_proj", s.hidden, s.heads * s.value, 1);
  if (!indexer) return;
  out.linear("indexer.wq_b", s.index_heads * s.index_dim, s.q_rank, 1);
  out.linear("indexer.wk", s.index_dim, s.hidden, 1);
  out.norm("indexer.k_norm", s.index_dim);
  out.add("indexer.k_norm.bias", Dtype::bf16, {s.index_dim}, {ValueKind::around_zero, 0.3});
  out.matrix("indexer.weights_proj", s.index_heads, s.hidden, 1);
}

constexpr SynthShard::Gains kGains{2, 2, 0.5};

std::vector<SynthTensor> layer_shard(const Sizes& s, int layer) {
  std::vector<SynthTensor> tensors;
  const std::string prefix = fmt::format("model.layers.{}.", layer);
  SynthShard block(tensors, prefix), attention(tensors, prefix + "self_attn.", s.fp8);
  SynthShard mlp(tensors, prefix + "mlp.", s.fp8);
  block.norm("input_layernorm", s.hidden);
  block.norm("post_attention_layernorm", s.hidden);
  synth_attention(attention, s, owns_indexer(s, layer));
  if (is_dense(s, layer)) {
    mlp.gated("", s.hidden, s.dense, kGains);
    return tensors;
  }
  mlp.matrix("gate", s.experts, s.hidden, 2);
  mlp.add("gate.e_score_correction_bias", Dtype::f32, {s.experts}, {ValueKind::between, -0.15, 0.15});
  mlp.gated("shared_experts.", s.hidden, s.expert_inner, kGains);
  for (int expert = 0; expert < s.experts; ++expert)
    mlp.gated(fmt::format("experts.{}.", expert), s.hidden, s.expert_inner, kGains);
  return tensors;
}

std::vector<SynthTensor> draft_shard(const Sizes& s) {
  std::vector<SynthTensor> tensors = layer_shard(s, s.layers);
  SynthShard head(tensors, fmt::format("model.layers.{}.", s.layers));
  head.norm("enorm", s.hidden);
  head.norm("hnorm", s.hidden);
  head.matrix("eh_proj", s.hidden, 2 * s.hidden, 1);
  head.norm("shared_head.norm", s.hidden);
  return tensors;
}

Json stop_ids(const Sizes& s) { return {s.stop, s.stop + 7, s.stop + 9}; }

void add_attention_fields(Json& config, const Sizes& s) {
  config.update(Json{{"num_attention_heads", s.heads},
                     {"num_key_value_heads", s.heads},
                     {"head_dim", s.nope},
                     {"q_lora_rank", s.q_rank},
                     {"kv_lora_rank", s.kv_rank},
                     {"qk_nope_head_dim", s.nope},
                     {"qk_rope_head_dim", s.rope},
                     {"qk_head_dim", s.nope + s.rope},
                     {"v_head_dim", s.value},
                     {"attention_bias", false},
                     {"attention_dropout", 0.0},
                     {"rope_parameters", {{"rope_theta", 8000000}, {"rope_type", "default"}}},
                     {"rope_interleave", true},
                     {"index_n_heads", s.index_heads},
                     {"index_head_dim", s.index_dim},
                     {"index_topk", s.index_topk},
                     {"index_topk_freq", kIndexFrequency},
                     {"index_skip_topk_offset", kIndexOffset},
                     {"index_topk_pattern", nullptr},
                     {"indexer_rope_interleave", true},
                     {"index_share_for_mtp_iteration", true}});
  Json types = Json::array();
  for (int layer = 0; layer < s.layers; ++layer) types.push_back(owns_indexer(s, layer) ? "full" : "shared");
  config["indexer_types"] = types;
}

Json config_of(const Sizes& s, const SynthOptions& options) {
  Json config = {{"architectures", {"GlmMoeDsaForCausalLM"}},
                 {"model_type", "glm_moe_dsa"},
                 {"dtype", "bfloat16"},
                 {"sluice_synth", synth_mark(options)},
                 {"vocab_size", s.vocab},
                 {"hidden_size", s.hidden},
                 {"intermediate_size", s.dense},
                 {"moe_intermediate_size", s.expert_inner},
                 {"num_hidden_layers", s.layers},
                 {"first_k_dense_replace", std::min(s.dense_layers, s.layers)},
                 {"moe_layer_freq", 1}};
  Json kinds = Json::array();
  for (int layer = 0; layer < s.layers; ++layer) kinds.push_back(is_dense(s, layer) ? "dense" : "sparse");
  config["mlp_layer_types"] = kinds;
  add_attention_fields(config, s);
  config.update(Json{{"max_position_embeddings", s.positions},
                     {"rms_norm_eps", 1e-05},
                     {"hidden_act", "silu"},
                     {"n_routed_experts", s.experts},
                     {"n_shared_experts", 1},
                     {"num_experts_per_tok", s.top_k},
                     {"n_group", 1},
                     {"topk_group", 1},
                     {"scoring_func", "sigmoid"},
                     {"topk_method", "noaux_tc"},
                     {"norm_topk_prob", true},
                     {"routed_scaling_factor", 2.5},
                     {"moe_router_dtype", "float32"},
                     {"num_nextn_predict_layers", 1},
                     {"tie_word_embeddings", false},
                     {"eos_token_id", stop_ids(s)},
                     {"pad_token_id", s.stop},
                     {"initializer_range", 0.02},
                     {"pretraining_tp", 1},
                     {"ep_size", 1},
                     {"use_cache", true},
                     {"transformers_version", "5.12.0"}});
  if (s.fp8) {
    config["sluice_synth"]["fp8"] = true;
    config["quantization_config"] = {{"quant_method", "fp8"},
                                     {"fmt", "e4m3"},
                                     {"activation_scheme", "dynamic"},
                                     {"weight_block_size", {kFp8Block, kFp8Block}}};
  }
  return config;
}

}  // namespace

Result<SynthCheckpoint> synth_checkpoint(const SynthOptions& options) {
  TRY_TAKE(Sizes sizes, chosen_sizes(kTiny, kFull, options));
  sizes.fp8 = options.fp8;
  const Json generation = {
      {"temperature", 1.0}, {"top_p", 0.95}, {"eos_token_id", stop_ids(sizes)}, {"pad_token_id", sizes.stop}};
  SynthCheckpoint checkpoint = synth_with_configs(config_of(sizes, options), generation, options);
  for (int layer = 0; layer < sizes.layers; ++layer) checkpoint.shards.push_back(layer_shard(sizes, layer));
  checkpoint.shards.push_back(draft_shard(sizes));
  checkpoint.shards.push_back(synth_globals(sizes.vocab, sizes.hidden));
  return checkpoint;
}

}  // namespace sluice::glm_dsa
