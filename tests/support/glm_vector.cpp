// See glm_vector.h.
#include "support/glm_vector.h"

#include <fstream>
#include <nlohmann/json.hpp>

namespace sluice::test {
namespace {

constexpr std::uint64_t kVocab = 48, kHidden = 48, kDense = 40, kInner = 20;
constexpr std::uint64_t kHeads = 4, kQRank = 32, kKvRank = 16, kNope = 12, kRope = 8, kValue = 28;
constexpr std::uint64_t kIndexHeads = 8, kIndexDim = 24, kExperts = 10;
constexpr int kLayers = 7, kDenseLayers = 2;

// Collects tensors whose names are completed with the prefix.
class Tensors {
 public:
  Tensors(std::vector<HashTensor>& all, std::string prefix) : all_(all), prefix_(std::move(prefix)) {}

  void matrix(const std::string& name, std::uint64_t rows, std::uint64_t cols, double a) {
    all_.push_back({prefix_ + name + ".weight", {rows, cols}, a, 0});
  }
  void norm(const std::string& name, std::uint64_t width) {
    all_.push_back({prefix_ + name + ".weight", {width}, 0.3, 1});
  }
  void bias(const std::string& name, std::uint64_t width, double a) { all_.push_back({prefix_ + name, {width}, a, 0}); }
  void gated(const std::string& name, std::uint64_t inner) {
    matrix(name + "gate_proj", inner, kHidden, 0.3);
    matrix(name + "up_proj", inner, kHidden, 0.3);
    matrix(name + "down_proj", kHidden, inner, 0.3);
  }

 private:
  std::vector<HashTensor>& all_;
  std::string prefix_;
};

bool owns_indexer(int layer) { return layer < 3 || layer == 6 || layer == kLayers; }

void add_layer(std::vector<HashTensor>& all, int layer) {
  const std::string prefix = "model.layers." + std::to_string(layer) + ".";
  Tensors block(all, prefix), attention(all, prefix + "self_attn."), mlp(all, prefix + "mlp.");
  block.norm("input_layernorm", kHidden);
  block.norm("post_attention_layernorm", kHidden);
  attention.matrix("q_a_proj", kQRank, kHidden, 0.06);
  attention.norm("q_a_layernorm", kQRank);
  attention.matrix("q_b_proj", kHeads * (kNope + kRope), kQRank, 0.4);
  attention.matrix("kv_a_proj_with_mqa", kKvRank + kRope, kHidden, 0.1);
  attention.norm("kv_a_layernorm", kKvRank);
  attention.matrix("kv_b_proj", kHeads * (kNope + kValue), kKvRank, 0.5);
  attention.matrix("o_proj", kHidden, kHeads * kValue, 0.15);
  if (owns_indexer(layer)) {
    attention.matrix("indexer.wq_b", kIndexHeads * kIndexDim, kQRank, 0.4);
    attention.matrix("indexer.wk", kIndexDim, kHidden, 0.3);
    attention.norm("indexer.k_norm", kIndexDim);
    attention.bias("indexer.k_norm.bias", kIndexDim, 0.3);
    attention.matrix("indexer.weights_proj", kIndexHeads, kHidden, 0.3);
  }
  if (layer < kDenseLayers) return mlp.gated("", kDense);
  mlp.matrix("gate", kExperts, kHidden, 0.4);
  mlp.bias("gate.e_score_correction_bias", kExperts, 0.25);
  mlp.gated("shared_experts.", kInner);
  for (std::uint64_t expert = 0; expert < kExperts; ++expert)
    mlp.gated("experts." + std::to_string(expert) + ".", kInner);
}

}  // namespace

const nlohmann::json& glm_vector() {
  static const nlohmann::json vector = [] {
    std::ifstream in(SLUICE_SOURCE_DIR "/tests/golden/glm_dsa/spec_vector.json");
    return nlohmann::json::parse(in);
  }();
  return vector;
}

std::vector<std::vector<HashTensor>> glm_tensors() {
  std::vector<std::vector<HashTensor>> shards(kLayers + 2);
  for (int layer = 0; layer <= kLayers; ++layer) add_layer(shards[static_cast<std::size_t>(layer)], layer);
  Tensors draft(shards[kLayers], "model.layers." + std::to_string(kLayers) + ".");
  draft.norm("enorm", kHidden);
  draft.norm("hnorm", kHidden);
  draft.matrix("eh_proj", kHidden, 2 * kHidden, 0.2);
  draft.norm("shared_head.norm", kHidden);
  Tensors globals(shards.back(), "");
  globals.matrix("model.embed_tokens", kVocab, kHidden, 1);
  globals.norm("model.norm", kHidden);
  globals.matrix("lm_head", kVocab, kHidden, 0.5);
  return shards;
}

nlohmann::json glm_vector_config() {
  nlohmann::json config = glm_vector().at("config");
  config["model_type"] = "glm_moe_dsa";
  config["mla_norm_eps"] = config.at("latent_norm_eps");
  return config;
}

void write_glm_vector(const std::filesystem::path& directory) {
  write_hash_checkpoint(directory, glm_tensors(), glm_vector_config());
}

}  // namespace sluice::test
