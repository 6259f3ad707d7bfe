// See synth.h. Names, shapes and types: spec section 2.2. Section numbers below are the spec's.
#include "models/kimi_k3/synth.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "models/common/synth_family.h"
#include "models/common/synth_shard.h"

namespace sluice::kimi_k3 {
namespace {

using Json = nlohmann::ordered_json;

struct Sizes {
  int layers, experts, top_k, block, mla_heads, kda_heads, kda_head, positions;
  int hidden, vocab, dense, q_rank, kv_rank, nope, rope, value, latent, expert_inner;

  int kda_width() const { return kda_heads * kda_head; }
  int ranks() const { return vocab - 256; }  // 5.5: the last 256 ids are special
};

constexpr Sizes kTiny = {.layers = 13,
                         .experts = 12,
                         .top_k = 3,
                         .block = 3,
                         .mla_heads = 4,
                         .kda_heads = 5,
                         .kda_head = 16,
                         .positions = 4096,
                         .hidden = 208,
                         .vocab = 768,
                         .dense = 336,
                         .q_rank = 72,
                         .kv_rank = 48,
                         .nope = 24,
                         .rope = 8,
                         .value = 16,
                         .latent = 192,
                         .expert_inner = 128};
constexpr Sizes kFull = {.layers = 93,
                         .experts = 896,
                         .top_k = 16,
                         .block = 12,
                         .mla_heads = 96,
                         .kda_heads = 96,
                         .kda_head = 128,
                         .positions = 1048576,
                         .hidden = 7168,
                         .vocab = 163840,
                         .dense = 33792,
                         .q_rank = 1536,
                         .kv_rank = 512,
                         .nope = 128,
                         .rope = 64,
                         .value = 128,
                         .latent = 3584,
                         .expert_inner = 3072};
constexpr int kSharedExperts = 2, kConvTaps = 4;

// Every fourth layer, and the last; a model of one layer keeps it for KDA.
bool is_mla(int layer, int layers) { return layer % 4 == 3 || (layer == layers - 1 && layer > 0); }

void synth_kda(SynthShard& out, const Sizes& s) {
  for (const char* stream : {"q", "k", "v"}) {
    out.matrix(fmt::format("{}_proj", stream), s.kda_width(), s.hidden, 1);
    out.add(fmt::format("{}_conv1d.weight", stream), Dtype::f32, {s.kda_width(), 1, kConvTaps},
            {ValueKind::between, -1, 1});
  }
  out.matrix("f_a_proj", s.kda_head, s.hidden, 1);
  out.matrix("f_b_proj", s.kda_width(), s.kda_head, 1);
  out.add("A_log", Dtype::f32, {s.kda_head}, {ValueKind::ramp, -0.4, 1.2, static_cast<std::uint64_t>(s.kda_heads)});
  out.add("dt_bias", Dtype::f32, {s.kda_width()}, {ValueKind::between, -4, 0});
  out.matrix("b_proj", s.kda_heads, s.hidden, 1);
  out.matrix("g_proj", s.kda_width(), s.hidden, 1);
  out.norm("o_norm", s.kda_head, Dtype::f32);
  out.matrix("o_proj", s.hidden, s.kda_width(), 2);
}

void synth_mla(SynthShard& out, const Sizes& s) {
  out.matrix("q_a_proj", s.q_rank, s.hidden, 1);
  out.norm("q_a_layernorm", s.q_rank);
  out.matrix("q_b_proj", s.mla_heads * (s.nope + s.rope), s.q_rank, 1.5);
  out.matrix("kv_a_proj_with_mqa", s.kv_rank + s.rope, s.hidden, 1);
  out.norm("kv_a_layernorm", s.kv_rank);
  out.matrix("kv_b_proj", s.mla_heads * (s.nope + s.value), s.kv_rank, 1.5);
  out.matrix("g_proj", s.mla_heads * s.value, s.hidden, 1);
  out.matrix("o_proj", s.hidden, s.mla_heads * s.value, 2);
}

// Gate and up are wide enough that values pass the caps of SiTU at 4 and 25; down brings them back to about 1.
constexpr SynthShard::Gains kGains{3, 12, 0.1};

void synth_moe(SynthShard& out, const Sizes& s) {
  out.matrix("gate", s.experts, s.hidden, 2);
  out.add("gate.e_score_correction_bias", Dtype::f32, {s.experts}, {ValueKind::between, -0.15, 0.15});
  out.matrix("routed_expert_down_proj", s.latent, s.hidden, 1);
  out.norm("routed_expert_norm", s.latent);
  out.matrix("routed_expert_up_proj", s.hidden, s.latent, 1);
  out.gated("shared_experts.", s.hidden, kSharedExperts * s.expert_inner, kGains);
  for (int expert = 0; expert < s.experts; ++expert) {
    const std::string name = fmt::format("experts.{}.", expert);
    out.packed(name + "w1", s.expert_inner, s.latent, 3);
    out.packed(name + "w3", s.expert_inner, s.latent, 12);
    out.packed(name + "w2", s.latent, s.expert_inner, 0.1);
  }
}

std::vector<SynthTensor> layer_shard(const Sizes& s, int layer) {
  std::vector<SynthTensor> tensors;
  const std::string prefix = fmt::format("language_model.model.layers.{}.", layer);
  SynthShard block(tensors, prefix);
  block.norm("input_layernorm", s.hidden);
  block.norm("post_attention_layernorm", s.hidden);
  for (const char* part : {"self_attention", "mlp"}) {
    block.norm(fmt::format("{}_res_norm", part), s.hidden);
    block.matrix(fmt::format("{}_res_proj", part), 1, s.hidden, 2);
  }
  SynthShard attention(tensors, prefix + "self_attn.");
  is_mla(layer, s.layers) ? synth_mla(attention, s) : synth_kda(attention, s);
  if (layer == 0) {
    SynthShard dense(tensors, prefix + "mlp.");
    dense.gated("", s.hidden, s.dense, kGains);
  } else {
    SynthShard moe(tensors, prefix + "block_sparse_moe.");
    synth_moe(moe, s);
  }
  return tensors;
}

std::vector<SynthTensor> globals_shard(const Sizes& s) {
  std::vector<SynthTensor> tensors;
  SynthShard model(tensors, "language_model.model.");
  model.add("embed_tokens.weight", Dtype::bf16, {s.vocab, s.hidden}, {ValueKind::around_zero, 1});
  model.norm("norm", s.hidden);
  model.norm("output_attn_res_norm", s.hidden);
  model.matrix("output_attn_res_proj", 1, s.hidden, 2);
  SynthShard(tensors, "language_model.").matrix("lm_head", s.vocab, s.hidden, 4);
  return tensors;
}

// 2.5: tensors that a text engine must skip. Names as released, sizes small.
std::vector<SynthTensor> vision_shard() {
  std::vector<SynthTensor> tensors;
  SynthShard projector(tensors, "mm_projector.");
  projector.matrix("proj.0", 64, 64, 1);
  projector.matrix("proj.2", 96, 64, 1);
  projector.norm("post_norm", 96);
  SynthShard tower(tensors, "vision_tower.");
  tower.matrix("encoder.blocks.0.wqkv", 72, 16, 1);
  tower.norm("encoder.final_layernorm", 16);
  tower.add("patch_embed.proj.weight", Dtype::bf16, {16, 3, 14, 14}, {ValueKind::around_zero, 0.05});
  return tensors;
}

Json layer_kinds(const Sizes& s) {
  Json mla = Json::array(), kda = Json::array();  // one-based, as in the release
  for (int layer = 0; layer < s.layers; ++layer) (is_mla(layer, s.layers) ? mla : kda).push_back(layer + 1);
  return {{"full_attn_layers", mla},
          {"kda_layers", kda},
          {"num_heads", s.kda_heads},
          {"head_dim", s.kda_head},
          {"short_conv_kernel_size", kConvTaps},
          {"gate_lower_bound", -5.0},
          {"use_full_rank_gate", true}};
}

Json quantization() {
  const Json weights = {{"num_bits", 4},       {"type", "float"},     {"group_size", 32},
                        {"strategy", "group"}, {"symmetric", true},   {"scale_dtype", "torch.uint8"},
                        {"dynamic", false},    {"observer", "minmax"}};
  const Json group = {{"targets", {"Linear"}}, {"weights", weights}, {"input_activations", nullptr}};
  return {{"quant_method", "compressed-tensors"},
          {"format", "mxfp4-pack-quantized"},
          {"config_groups", {{"group_0", group}}},
          {"kv_cache_scheme", nullptr},
          {"ignore",
           {"re:.*self_attn.*", "re:.*shared_experts.*", "re:.*mlp\\.(gate|up|gate_up|down)_proj.*", "re:.*lm_head.*",
            "re:vision_tower.*", "re:mm_projector.*"}}};
}

Json special_ids(const Sizes& s) {
  return {{"bos_token_id", s.ranks()}, {"eos_token_id", s.ranks() + 2}, {"pad_token_id", s.ranks() + 255}};
}

Json text_config(const Sizes& s) {
  Json text = {{"architectures", {"KimiLinearForCausalLM"}},
               {"model_type", "kimi_linear"},
               {"vocab_size", s.vocab},
               {"hidden_size", s.hidden},
               {"num_hidden_layers", s.layers},
               {"num_attention_heads", s.mla_heads},
               {"num_key_value_heads", s.mla_heads},
               {"intermediate_size", s.dense},
               {"hidden_act", "situ"},
               {"activation_situ_beta", 4.0},
               {"activation_situ_linear_beta", 25.0},
               {"rms_norm_eps", 1e-05},
               {"initializer_range", 0.02},
               {"max_position_embeddings", s.positions},
               {"attn_res_block_size", s.block},
               {"q_lora_rank", s.q_rank},
               {"kv_lora_rank", s.kv_rank},
               {"qk_nope_head_dim", s.nope},
               {"qk_rope_head_dim", s.rope},
               {"v_head_dim", s.value},
               {"mla_use_nope", true},
               {"mla_use_output_gate", true}};
  text.update({{"num_experts", s.experts},
               {"num_experts_per_token", s.top_k},
               {"num_shared_experts", kSharedExperts},
               {"moe_intermediate_size", s.expert_inner},
               {"routed_expert_hidden_size", s.latent},
               {"latent_moe_use_norm", true},
               {"moe_renormalize", true},
               {"moe_router_activation_func", "sigmoid"},
               {"routed_scaling_factor", 1.0},
               {"first_k_dense_replace", 1},
               {"moe_layer_freq", 1},
               {"use_grouped_topk", true},
               {"num_expert_group", 1},
               {"topk_group", 1},
               {"topk_method", "noaux_tc"},
               {"num_nextn_predict_layers", 0},
               {"tie_word_embeddings", false},
               {"use_cache", true}});
  text.update(special_ids(s));
  text["linear_attn_config"] = layer_kinds(s);
  text["quantization_config"] = quantization();
  return text;
}

Json config_of(const Sizes& s, const SynthOptions& options) {
  Json config = {{"architectures", {"KimiK3ForConditionalGeneration"}},
                 {"model_type", "kimi_k3"},
                 {"dtype", "bfloat16"},
                 {"sluice_synth", synth_mark(options)}};
  config.update(special_ids(s));
  config["ignore_index"] = -100;
  config["image_placeholder"] = "<|kimi_image_placeholder|>";
  config["media_placeholder_token_id"] = s.ranks() + 21;
  config["tie_word_embeddings"] = false;
  config["text_config"] = text_config(s);
  config["vision_config"] = {{"patch_size", 14},
                             {"vt_hidden_size", 16},
                             {"vt_num_hidden_layers", 1},
                             {"vt_num_attention_heads", 2},
                             {"qkv_hidden_size", 24},
                             {"vt_intermediate_size", 64},
                             {"mm_projector_type", "patchmergerv2"},
                             {"mm_hidden_size", 16},
                             {"text_hidden_size", s.hidden},
                             {"projector_ln_eps", 1e-05}};
  return config;
}

}  // namespace

Result<SynthCheckpoint> synth_checkpoint(const SynthOptions& options) {
  if (options.fp8) return fail(ErrorKind::bad_input, "--fp8: Kimi K3 has no FP8 release");
  TRY_TAKE(const Sizes sizes, chosen_sizes(kTiny, kFull, options));
  const Json generation = {{"max_length", sizes.positions}, {"eos_token_id", sizes.ranks() + 2}};
  SynthCheckpoint checkpoint = synth_with_configs(config_of(sizes, options), generation, options);
  checkpoint.texts.push_back({"tiktoken.model", synth_tiktoken(sizes.ranks(), options.seed)});
  for (int layer = 0; layer < sizes.layers; ++layer) checkpoint.shards.push_back(layer_shard(sizes, layer));
  checkpoint.shards.push_back(globals_shard(sizes));
  checkpoint.shards.push_back(vision_shard());
  return checkpoint;
}

}  // namespace sluice::kimi_k3
