// See synth.h. Names, shapes, types and shards: spec sections 2.1 and 2.2; config: section 1.1.
#include "models/deepseek_v4/synth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "formats/fp8_block.h"
#include "formats/mxfp4.h"
#include "models/common/synth_family.h"
#include "models/common/synth_shard.h"

namespace sluice::deepseek_v4 {
namespace {

using Json = nlohmann::ordered_json;

struct Sizes {
  int layers, experts, top_k, hash_layers, positions, vocab;
  int hidden, inner, heads, head, rope, q_rank, groups, o_rank;
  int index_heads, index_head, index_topk, window;
  int first_ratio, first_layers, wide_ratio;  // the ratio of so many layers, then 4 and wide_ratio in turn
  int original_positions;
  double factor;  // of router weights

  int ratio(int layer) const {
    if (layer >= layers) return 0;  // the MTP block
    if (layer < first_layers) return first_ratio;
    return (layer - first_layers) % 2 == 0 ? 4 : wide_ratio;
  }
  bool hash_routed(int layer) const { return layer < std::min(hash_layers, layers); }
};
constexpr int kStreams = 4, kMixes = (2 + kStreams) * kStreams;

constexpr Sizes kTiny = {.layers = 8,
                         .experts = 12,
                         .top_k = 3,
                         .hash_layers = 2,
                         .positions = 4096,
                         .vocab = 768,
                         .hidden = 224,
                         .inner = 96,
                         .heads = 6,
                         .head = 40,
                         .rope = 8,
                         .q_rank = 72,
                         .groups = 3,
                         .o_rank = 56,
                         .index_heads = 6,
                         .index_head = 16,
                         .index_topk = 12,
                         .window = 24,
                         .first_ratio = 0,
                         .first_layers = 1,
                         .wide_ratio = 16,
                         .original_positions = 512,
                         .factor = 1.5};
constexpr Sizes kFlash = {.layers = 43,
                          .experts = 256,
                          .top_k = 6,
                          .hash_layers = 3,
                          .positions = 1048576,
                          .vocab = 129280,
                          .hidden = 4096,
                          .inner = 2048,
                          .heads = 64,
                          .head = 512,
                          .rope = 64,
                          .q_rank = 1024,
                          .groups = 8,
                          .o_rank = 1024,
                          .index_heads = 64,
                          .index_head = 128,
                          .index_topk = 512,
                          .window = 128,
                          .first_ratio = 0,
                          .first_layers = 2,
                          .wide_ratio = 128,
                          .original_positions = 65536,
                          .factor = 1.5};
constexpr Sizes kPro = [] {
  Sizes sizes = kFlash;
  sizes.layers = 61;
  sizes.experts = 384;
  sizes.hidden = 7168;
  sizes.inner = 3072;
  sizes.heads = 128;
  sizes.q_rank = 1536;
  sizes.groups = 16;
  sizes.index_topk = 1024;
  sizes.first_ratio = 128;
  sizes.factor = 2.5;
  return sizes;
}();

// Tensors as this family stores them.
class Shard {
 public:
  Shard(std::vector<SynthTensor>& out, const std::string& prefix) : out_(out, prefix) {}

  void fp8(const std::string& name, int rows, int cols, double gain) {
    const auto blocks = [](int size) { return (size + kFp8Block - 1) / kFp8Block; };
    out_.add(name + ".weight", Dtype::f8_e4m3, {rows, cols}, {ValueKind::e4m3_codes});
    out_.add(name + ".scale", Dtype::f8_e8m0, {blocks(rows), blocks(cols)},
             {ValueKind::e8m0_near, gain / (2 * kE4m3Rms * std::sqrt(cols))});  // two octaves up, one down
  }
  void fp4(const std::string& name, int rows, int cols, double gain) {
    out_.add(name + ".weight", Dtype::i8, {rows, cols / 2}, {ValueKind::e2m1_codes});
    out_.add(name + ".scale", Dtype::f8_e8m0, {rows, cols / kMxfp4Group},
             {ValueKind::e8m0_near, gain / (2 * kE2m1Rms * std::sqrt(cols))});
  }
  void matrix(const std::string& name, int rows, int cols, double gain) { out_.matrix(name, rows, cols, gain); }
  void norm(const std::string& name, int width) { out_.norm(name, width); }
  void even(const std::string& name, std::initializer_list<int> shape, double least, double most) {
    out_.add(name, Dtype::f32, shape, {ValueKind::between, least, most});
  }
  void gains(const std::string& name, int width) { out_.add(name, Dtype::f32, {width}, {ValueKind::near_one}); }
  void table(const std::string& name, int rows, int cols, int below) {
    out_.add(name, Dtype::i64, {rows, cols},
             {ValueKind::distinct_ids, static_cast<double>(below), 0, static_cast<std::uint64_t>(cols)});
  }
  void mixes(const std::string& name, int rows, int gain_count, int hidden) {
    const double most = std::sqrt(3.0 / (kStreams * hidden));  // of an even range with the root mean square of 1/√cols
    even(name + "_fn", {rows, kStreams * hidden}, -most, most);
    even(name + "_base", {rows}, -0.5, 0.5);
    gains(name + "_scale", gain_count);
  }

 private:
  SynthShard out_;
};

void synth_compressor(Shard& out, const Sizes& s, const std::string& name, int ratio, int width) {
  const int rows = ratio == 4 ? 2 * width : width;
  out.even(name + ".ape", {ratio, rows}, -0.5, 0.5);
  out.norm(name + ".norm", width);
  out.matrix(name + ".wkv", rows, s.hidden, 1);
  out.matrix(name + ".wgate", rows, s.hidden, 1);
}

void synth_attention(Shard& out, const Sizes& s, int ratio) {
  out.even("attn.attn_sink", {s.heads}, -1, 1);
  out.fp8("attn.wq_a", s.q_rank, s.hidden, 1);
  out.norm("attn.q_norm", s.q_rank);
  out.fp8("attn.wq_b", s.heads * s.head, s.q_rank, 1.5);
  out.fp8("attn.wkv", s.head, s.hidden, 1);
  out.norm("attn.kv_norm", s.head);
  out.fp8("attn.wo_a", s.groups * s.o_rank, s.heads * s.head / s.groups, 1);
  out.fp8("attn.wo_b", s.hidden, s.groups * s.o_rank, 1);
  if (ratio != 0) synth_compressor(out, s, "attn.compressor", ratio, s.head);
  if (ratio != 4) return;
  out.fp8("attn.indexer.wq_b", s.index_heads * s.index_head, s.q_rank, 1);
  out.matrix("attn.indexer.weights_proj", s.index_heads, s.hidden, 1);
  synth_compressor(out, s, "attn.indexer.compressor", ratio, s.index_head);
}

void synth_experts(Shard& out, const Sizes& s, bool by_table) {
  out.matrix("ffn.gate", s.experts, s.hidden, 2);
  if (by_table)
    out.table("ffn.gate.tid2eid", s.vocab, s.top_k, s.experts);
  else
    out.even("ffn.gate.bias", {s.experts}, -0.15, 0.15);
  out.fp8("ffn.shared_experts.w1", s.inner, s.hidden, 2);
  out.fp8("ffn.shared_experts.w3", s.inner, s.hidden, 2);
  out.fp8("ffn.shared_experts.w2", s.hidden, s.inner, 0.5);
  for (int expert = 0; expert < s.experts; ++expert) {
    const std::string name = fmt::format("ffn.experts.{}.", expert);
    out.fp4(name + "w1", s.inner, s.hidden, 2);
    out.fp4(name + "w3", s.inner, s.hidden, 2);
    out.fp4(name + "w2", s.hidden, s.inner, 0.5);
  }
}

std::vector<SynthTensor> layer_shard(const Sizes& s, int layer) {
  std::vector<SynthTensor> tensors;
  Shard out(tensors, layer < s.layers ? fmt::format("layers.{}.", layer) : "mtp.0.");
  out.norm("attn_norm", s.hidden);
  out.norm("ffn_norm", s.hidden);
  out.mixes("hc_attn", kMixes, 3, s.hidden);
  out.mixes("hc_ffn", kMixes, 3, s.hidden);
  synth_attention(out, s, s.ratio(layer));
  synth_experts(out, s, s.hash_routed(layer));
  if (layer < s.layers) return tensors;
  out.fp8("e_proj", s.hidden, s.hidden, 0.7);
  out.fp8("h_proj", s.hidden, s.hidden, 0.7);
  for (const char* name : {"enorm", "hnorm", "norm"}) out.norm(name, s.hidden);
  out.mixes("hc_head", kStreams, 1, s.hidden);
  return tensors;
}

std::vector<SynthTensor> embedding_shard(const Sizes& s) {
  std::vector<SynthTensor> tensors;
  SynthShard(tensors, "").add("embed.weight", Dtype::bf16, {s.vocab, s.hidden}, {ValueKind::around_zero, 1});
  return tensors;
}

std::vector<SynthTensor> head_shard(const Sizes& s) {
  std::vector<SynthTensor> tensors;
  Shard out(tensors, "");
  out.norm("norm", s.hidden);
  out.matrix("head", s.vocab, s.hidden, 4);
  out.mixes("hc_head", kStreams, 1, s.hidden);
  return tensors;
}

void add_attention_fields(Json& config, const Sizes& s) {
  Json ratios = Json::array();
  for (int layer = 0; layer <= s.layers; ++layer) ratios.push_back(s.ratio(layer));
  config.update(Json{{"num_attention_heads", s.heads},
                     {"num_key_value_heads", 1},
                     {"head_dim", s.head},
                     {"qk_rope_head_dim", s.rope},
                     {"q_lora_rank", s.q_rank},
                     {"o_groups", s.groups},
                     {"o_lora_rank", s.o_rank},
                     {"index_n_heads", s.index_heads},
                     {"index_head_dim", s.index_head},
                     {"index_topk", s.index_topk},
                     {"sliding_window", s.window},
                     {"compress_ratios", ratios},
                     {"rope_theta", 10000},
                     {"compress_rope_theta", 160000},
                     {"rope_scaling",
                      {{"type", "yarn"},
                       {"factor", 16},
                       {"original_max_position_embeddings", s.original_positions},
                       {"beta_fast", 32},
                       {"beta_slow", 1}}},
                     {"attention_bias", false},
                     {"attention_dropout", 0.0}});
}

Json config_of(const Sizes& s, const SynthOptions& options) {
  Json config = {{"architectures", {"DeepseekV4ForCausalLM"}},
                 {"model_type", "deepseek_v4"},
                 {"sluice_synth", synth_mark(options)},
                 {"vocab_size", s.vocab},
                 {"hidden_size", s.hidden},
                 {"num_hidden_layers", s.layers},
                 {"hc_mult", kStreams},
                 {"hc_sinkhorn_iters", 20},
                 {"hc_eps", 1e-6}};
  add_attention_fields(config, s);
  config.update(Json{{"n_routed_experts", s.experts},
                     {"n_shared_experts", 1},
                     {"num_experts_per_tok", s.top_k},
                     {"moe_intermediate_size", s.inner},
                     {"num_hash_layers", std::min(s.hash_layers, s.layers)},
                     {"scoring_func", "sqrtsoftplus"},
                     {"topk_method", "noaux_tc"},
                     {"norm_topk_prob", true},
                     {"routed_scaling_factor", s.factor},
                     {"swiglu_limit", 10.0},
                     {"hidden_act", "silu"},
                     {"expert_dtype", "fp4"},
                     {"num_nextn_predict_layers", 1},
                     {"rms_norm_eps", 1e-6},
                     {"max_position_embeddings", s.positions},
                     {"bos_token_id", 0},
                     {"eos_token_id", 1},
                     {"tie_word_embeddings", false},
                     {"torch_dtype", "bfloat16"},
                     {"initializer_range", 0.02},
                     {"use_cache", true},
                     {"quantization_config",
                      {{"quant_method", "fp8"},
                       {"fmt", "e4m3"},
                       {"scale_fmt", "ue8m0"},
                       {"activation_scheme", "dynamic"},
                       {"weight_block_size", {kFp8Block, kFp8Block}}}},
                     {"transformers_version", "4.57.1"}});
  return config;
}

Result<SynthCheckpoint> make(const Sizes& full, const SynthOptions& options) {
  if (options.fp8) return fail(ErrorKind::bad_input, "--fp8: DeepSeek-V4 has no other release");
  TRY_TAKE(const Sizes sizes, chosen_sizes(kTiny, full, options));
  const Json generation = {
      {"bos_token_id", 0}, {"eos_token_id", 1}, {"do_sample", true}, {"temperature", 1.0}, {"top_p", 1.0}};
  SynthCheckpoint checkpoint = synth_with_configs(config_of(sizes, options), generation, options);
  checkpoint.shards.push_back(embedding_shard(sizes));
  for (int layer = 0; layer < sizes.layers; ++layer) checkpoint.shards.push_back(layer_shard(sizes, layer));
  checkpoint.shards.push_back(head_shard(sizes));
  checkpoint.shards.push_back(layer_shard(sizes, sizes.layers));
  return checkpoint;
}

}  // namespace

Result<SynthCheckpoint> synth_checkpoint(const SynthOptions& options) { return make(kFlash, options); }
Result<SynthCheckpoint> synth_pro_checkpoint(const SynthOptions& options) { return make(kPro, options); }

}  // namespace sluice::deepseek_v4
