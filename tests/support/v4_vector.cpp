// See v4_vector.h.
#include "support/v4_vector.h"

#include <cstddef>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>

#include "support/golden_vector.h"

namespace sluice::test {
namespace {

constexpr std::uint64_t kV4Vocab = 48, kV4Streams = 4, kV4Heads = 4, kV4Dim = 16, kV4QRank = 16, kV4Groups = 2,
                        kV4ORank = 8;
constexpr std::uint64_t kV4IndexHeads = 8, kV4IndexDim = 16, kV4Picked = 2;
constexpr int kV4Layers = 4, kV4HashLayers = 2;
constexpr int kV4Ratios[] = {0, 4, 8, 4, 0};  // the MTP block's too

// Collects tensors whose names are completed with the prefix.
class V4Tensors {
 public:
  V4Tensors(std::vector<HashTensor>& all, std::string prefix) : all_(all), prefix_(std::move(prefix)) {}

  void matrix(const std::string& name, std::uint64_t rows, std::uint64_t cols, double a) {
    all_.push_back({prefix_ + name + ".weight", {rows, cols}, a, 0});
  }
  void norm(const std::string& name, std::uint64_t width) {
    all_.push_back({prefix_ + name + ".weight", {width}, 0.2, 1});
  }
  void plain(const std::string& name, std::vector<std::uint64_t> shape, double a, double b = 0) {
    all_.push_back({prefix_ + name, std::move(shape), a, b});
  }
  void streams(const std::string& name, std::uint64_t mixes, std::uint64_t scales) {
    plain(name + "_fn", {mixes, kV4Streams * kV4Hidden}, 0.2);
    plain(name + "_base", {mixes}, 0.5);
    plain(name + "_scale", {scales}, 0.2, 1);
  }
  void gated(const std::string& name) {
    matrix(name + "w1", kV4Inner, kV4Hidden, 0.3);
    matrix(name + "w2", kV4Hidden, kV4Inner, 0.3);
    matrix(name + "w3", kV4Inner, kV4Hidden, 0.3);
  }
  void compressor(const std::string& name, int ratio, std::uint64_t width) {
    const std::uint64_t rows = ratio == 4 ? 2 * width : width;
    plain(name + "ape", {static_cast<std::uint64_t>(ratio), rows}, 0.5);
    norm(name + "norm", width);
    matrix(name + "wkv", rows, kV4Hidden, 0.3);
    matrix(name + "wgate", rows, kV4Hidden, 0.3);
  }
  // col 0 = n_0, col 1 = (n_0 + 1 + n_1 mod 5) mod 6, n = top 24 bits of a word, mod 6.
  void table(const std::string& name) {
    HashTensor made{prefix_ + name, {kV4Vocab, kV4Picked}};
    const std::uint64_t hash = fnv1a64(std::as_bytes(std::span(made.name)));
    for (std::uint64_t row = 0; row < kV4Vocab; ++row) {
      const std::uint64_t first = (golden_word(hash, row * kV4Picked) >> 40) % kV4Experts;
      const std::uint64_t second = (golden_word(hash, row * kV4Picked + 1) >> 40) % kV4Experts;
      made.ids.push_back(static_cast<std::int64_t>(first));
      made.ids.push_back(static_cast<std::int64_t>((first + 1 + second % 5) % kV4Experts));
    }
    all_.push_back(std::move(made));
  }

 private:
  std::vector<HashTensor>& all_;
  std::string prefix_;
};

void add_block(std::vector<HashTensor>& all, const std::string& prefix, int layer) {
  const int ratio = kV4Ratios[layer];
  V4Tensors block(all, prefix), attention(all, prefix + "attn."), ffn(all, prefix + "ffn.");
  block.norm("attn_norm", kV4Hidden);
  block.norm("ffn_norm", kV4Hidden);
  block.streams("hc_attn", (2 + kV4Streams) * kV4Streams, 3);
  block.streams("hc_ffn", (2 + kV4Streams) * kV4Streams, 3);
  attention.plain("attn_sink", {kV4Heads}, 1);
  attention.matrix("wq_a", kV4QRank, kV4Hidden, 0.3);
  attention.norm("q_norm", kV4QRank);
  attention.matrix("wq_b", kV4Heads * kV4Dim, kV4QRank, 0.4);
  attention.matrix("wkv", kV4Dim, kV4Hidden, 0.3);
  attention.norm("kv_norm", kV4Dim);
  attention.matrix("wo_a", kV4Groups * kV4ORank, kV4Heads * kV4Dim / kV4Groups, 0.3);
  attention.matrix("wo_b", kV4Hidden, kV4Groups * kV4ORank, 0.4);
  if (ratio != 0) attention.compressor("compressor.", ratio, kV4Dim);
  if (ratio == 4) {
    attention.matrix("indexer.wq_b", kV4IndexHeads * kV4IndexDim, kV4QRank, 0.4);
    attention.matrix("indexer.weights_proj", kV4IndexHeads, kV4Hidden, 0.4);
    attention.compressor("indexer.compressor.", ratio, kV4IndexDim);
  }
  ffn.matrix("gate", kV4Experts, kV4Hidden, 0.3);
  if (layer < kV4HashLayers)
    ffn.table("gate.tid2eid");
  else
    ffn.plain("gate.bias", {kV4Experts}, 0.5);
  ffn.gated("shared_experts.");
  for (std::uint64_t expert = 0; expert < kV4Experts; ++expert) ffn.gated("experts." + std::to_string(expert) + ".");
}

}  // namespace

const nlohmann::json& v4_vector() {
  static const nlohmann::json vector = [] {
    std::ifstream in(SLUICE_SOURCE_DIR "/tests/golden/deepseek_v4/spec_vector.json");
    return nlohmann::json::parse(in);
  }();
  return vector;
}

std::vector<std::vector<HashTensor>> v4_tensors() {
  std::vector<std::vector<HashTensor>> shards(kV4Layers + 2);
  for (int layer = 0; layer < kV4Layers; ++layer)
    add_block(shards[static_cast<std::size_t>(layer)], "layers." + std::to_string(layer) + ".", layer);
  add_block(shards[kV4Layers], "mtp.0.", kV4Layers);
  V4Tensors draft(shards[kV4Layers], "mtp.0."), globals(shards.back(), "");
  draft.matrix("e_proj", kV4Hidden, kV4Hidden, 0.3);
  draft.matrix("h_proj", kV4Hidden, kV4Hidden, 0.3);
  for (const char* name : {"enorm", "hnorm", "norm"}) draft.norm(name, kV4Hidden);
  draft.streams("hc_head", kV4Streams, 1);
  globals.matrix("embed", kV4Vocab, kV4Hidden, 1);
  globals.matrix("head", kV4Vocab, kV4Hidden, 0.5);
  globals.norm("norm", kV4Hidden);
  globals.streams("hc_head", kV4Streams, 1);
  return shards;
}

nlohmann::json v4_vector_config() {
  const nlohmann::json& given = v4_vector().at("config");
  nlohmann::json config = {{"model_type", "deepseek_v4"},
                           {"tie_word_embeddings", false},
                           {"num_nextn_predict_layers", 1},
                           {"norm_topk_prob", true},
                           {"scoring_func", "sqrtsoftplus"},
                           {"topk_method", "noaux_tc"},
                           {"n_shared_experts", 1},
                           {"num_key_value_heads", 1},
                           {"max_position_embeddings", 2048},
                           {"rope_scaling",
                            {{"type", "yarn"},
                             {"factor", given.at("factor")},
                             {"original_max_position_embeddings", given.at("orig")},
                             {"beta_fast", given.at("bf")},
                             {"beta_slow", given.at("bs")}}}};
  const std::pair<const char*, const char*> kNames[] = {
      {"vocab_size", "vocab"},
      {"hidden_size", "dim"},
      {"num_hidden_layers", "layers"},
      {"num_attention_heads", "heads"},
      {"head_dim", "hd"},
      {"qk_rope_head_dim", "rd"},
      {"q_lora_rank", "q"},
      {"o_groups", "og"},
      {"o_lora_rank", "ol"},
      {"sliding_window", "win"},
      {"compress_ratios", "ratios"},
      {"n_routed_experts", "E"},
      {"num_experts_per_tok", "K"},
      {"moe_intermediate_size", "I"},
      {"num_hash_layers", "hash"},
      {"hc_mult", "hc"},
      {"hc_sinkhorn_iters", "it"},
      {"rms_norm_eps", "eps"},
      {"hc_eps", "heps"},
      {"routed_scaling_factor", "scale"},
      {"swiglu_limit", "limit"},
      {"index_n_heads", "ih"},
      {"index_head_dim", "id"},
      {"index_topk", "topk"},
      {"rope_theta", "theta"},
      {"compress_rope_theta", "ctheta"},
  };
  for (const auto& [name, short_name] : kNames) config[name] = given.at(short_name);
  return config;
}

void write_v4_vector(const std::filesystem::path& directory) {
  write_hash_checkpoint(directory, v4_tensors(), v4_vector_config());
}

}  // namespace sluice::test
