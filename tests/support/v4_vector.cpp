// See v4_vector.h.
#include "support/v4_vector.h"

#include <cstddef>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>

#include "support/golden_vector.h"

namespace sluice::test {
namespace {

constexpr std::uint64_t kVocab = 48, kHidden = 32, kStreams = 4, kHeads = 4, kDim = 16, kQRank = 16, kGroups = 2,
                        kORank = 8;
constexpr std::uint64_t kIndexHeads = 8, kIndexDim = 16, kExperts = 6, kPicked = 2, kInner = 32;
constexpr int kLayers = 4, kHashLayers = 2;
constexpr int kRatios[] = {0, 4, 8, 4, 0};  // the MTP block's too

// Collects tensors whose names are completed with the prefix.
class Tensors {
 public:
  Tensors(std::vector<HashTensor>& all, std::string prefix) : all_(all), prefix_(std::move(prefix)) {}

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
    plain(name + "_fn", {mixes, kStreams * kHidden}, 0.2);
    plain(name + "_base", {mixes}, 0.5);
    plain(name + "_scale", {scales}, 0.2, 1);
  }
  void gated(const std::string& name) {
    matrix(name + "w1", kInner, kHidden, 0.3);
    matrix(name + "w2", kHidden, kInner, 0.3);
    matrix(name + "w3", kInner, kHidden, 0.3);
  }
  void compressor(const std::string& name, int ratio, std::uint64_t width) {
    const std::uint64_t rows = ratio == 4 ? 2 * width : width;
    plain(name + "ape", {static_cast<std::uint64_t>(ratio), rows}, 0.5);
    norm(name + "norm", width);
    matrix(name + "wkv", rows, kHidden, 0.3);
    matrix(name + "wgate", rows, kHidden, 0.3);
  }
  // col 0 = n_0, col 1 = (n_0 + 1 + n_1 mod 5) mod 6, n = top 24 bits of a word, mod 6.
  void table(const std::string& name) {
    HashTensor made{prefix_ + name, {kVocab, kPicked}};
    const std::uint64_t hash = fnv1a64(std::as_bytes(std::span(made.name)));
    for (std::uint64_t row = 0; row < kVocab; ++row) {
      const std::uint64_t first = (golden_word(hash, row * kPicked) >> 40) % kExperts;
      const std::uint64_t second = (golden_word(hash, row * kPicked + 1) >> 40) % kExperts;
      made.ids.push_back(static_cast<std::int64_t>(first));
      made.ids.push_back(static_cast<std::int64_t>((first + 1 + second % 5) % kExperts));
    }
    all_.push_back(std::move(made));
  }

 private:
  std::vector<HashTensor>& all_;
  std::string prefix_;
};

void add_block(std::vector<HashTensor>& all, const std::string& prefix, int layer) {
  const int ratio = kRatios[layer];
  Tensors block(all, prefix), attention(all, prefix + "attn."), ffn(all, prefix + "ffn.");
  block.norm("attn_norm", kHidden);
  block.norm("ffn_norm", kHidden);
  block.streams("hc_attn", (2 + kStreams) * kStreams, 3);
  block.streams("hc_ffn", (2 + kStreams) * kStreams, 3);
  attention.plain("attn_sink", {kHeads}, 1);
  attention.matrix("wq_a", kQRank, kHidden, 0.3);
  attention.norm("q_norm", kQRank);
  attention.matrix("wq_b", kHeads * kDim, kQRank, 0.4);
  attention.matrix("wkv", kDim, kHidden, 0.3);
  attention.norm("kv_norm", kDim);
  attention.matrix("wo_a", kGroups * kORank, kHeads * kDim / kGroups, 0.3);
  attention.matrix("wo_b", kHidden, kGroups * kORank, 0.4);
  if (ratio != 0) attention.compressor("compressor.", ratio, kDim);
  if (ratio == 4) {
    attention.matrix("indexer.wq_b", kIndexHeads * kIndexDim, kQRank, 0.4);
    attention.matrix("indexer.weights_proj", kIndexHeads, kHidden, 0.4);
    attention.compressor("indexer.compressor.", ratio, kIndexDim);
  }
  ffn.matrix("gate", kExperts, kHidden, 0.3);
  if (layer < kHashLayers)
    ffn.table("gate.tid2eid");
  else
    ffn.plain("gate.bias", {kExperts}, 0.5);
  ffn.gated("shared_experts.");
  for (std::uint64_t expert = 0; expert < kExperts; ++expert) ffn.gated("experts." + std::to_string(expert) + ".");
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
  std::vector<std::vector<HashTensor>> shards(kLayers + 2);
  for (int layer = 0; layer < kLayers; ++layer)
    add_block(shards[static_cast<std::size_t>(layer)], "layers." + std::to_string(layer) + ".", layer);
  add_block(shards[kLayers], "mtp.0.", kLayers);
  Tensors draft(shards[kLayers], "mtp.0."), globals(shards.back(), "");
  draft.matrix("e_proj", kHidden, kHidden, 0.3);
  draft.matrix("h_proj", kHidden, kHidden, 0.3);
  for (const char* name : {"enorm", "hnorm", "norm"}) draft.norm(name, kHidden);
  draft.streams("hc_head", kStreams, 1);
  globals.matrix("embed", kVocab, kHidden, 1);
  globals.matrix("head", kVocab, kHidden, 0.5);
  globals.norm("norm", kHidden);
  globals.streams("hc_head", kStreams, 1);
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
