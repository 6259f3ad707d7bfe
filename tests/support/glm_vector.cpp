// See glm_vector.h.
#include "support/glm_vector.h"

#include <fstream>
#include <nlohmann/json.hpp>

namespace sluice::test {
namespace {

constexpr std::uint64_t kGlmVocab = 48, kGlmHidden = 48, kGlmDense = 40, kGlmInner = 20;
constexpr std::uint64_t kGlmHeads = 4, kGlmQRank = 32, kGlmKvRank = 16, kGlmNope = 12, kGlmRope = 8, kGlmValue = 28;
constexpr std::uint64_t kGlmIndexHeads = 8, kGlmIndexDim = 24, kGlmExperts = 10;
constexpr int kGlmLayers = 7, kGlmDenseLayers = 2;

// Collects tensors whose names are completed with the prefix.
class GlmTensors {
 public:
  GlmTensors(std::vector<HashTensor>& all, std::string prefix) : all_(all), prefix_(std::move(prefix)) {}

  void matrix(const std::string& name, std::uint64_t rows, std::uint64_t cols, double a) {
    all_.push_back({prefix_ + name + ".weight", {rows, cols}, a, 0});
  }
  void norm(const std::string& name, std::uint64_t width) {
    all_.push_back({prefix_ + name + ".weight", {width}, 0.3, 1});
  }
  void bias(const std::string& name, std::uint64_t width, double a) { all_.push_back({prefix_ + name, {width}, a, 0}); }
  void gated(const std::string& name, std::uint64_t inner) {
    matrix(name + "gate_proj", inner, kGlmHidden, 0.3);
    matrix(name + "up_proj", inner, kGlmHidden, 0.3);
    matrix(name + "down_proj", kGlmHidden, inner, 0.3);
  }

 private:
  std::vector<HashTensor>& all_;
  std::string prefix_;
};

bool owns_indexer(int layer) { return layer < 3 || layer == 6 || layer == kGlmLayers; }

void add_glm_layer(std::vector<HashTensor>& all, int layer) {
  const std::string prefix = "model.layers." + std::to_string(layer) + ".";
  GlmTensors block(all, prefix), attention(all, prefix + "self_attn."), mlp(all, prefix + "mlp.");
  block.norm("input_layernorm", kGlmHidden);
  block.norm("post_attention_layernorm", kGlmHidden);
  attention.matrix("q_a_proj", kGlmQRank, kGlmHidden, 0.06);
  attention.norm("q_a_layernorm", kGlmQRank);
  attention.matrix("q_b_proj", kGlmHeads * (kGlmNope + kGlmRope), kGlmQRank, 0.4);
  attention.matrix("kv_a_proj_with_mqa", kGlmKvRank + kGlmRope, kGlmHidden, 0.1);
  attention.norm("kv_a_layernorm", kGlmKvRank);
  attention.matrix("kv_b_proj", kGlmHeads * (kGlmNope + kGlmValue), kGlmKvRank, 0.5);
  attention.matrix("o_proj", kGlmHidden, kGlmHeads * kGlmValue, 0.15);
  if (owns_indexer(layer)) {
    attention.matrix("indexer.wq_b", kGlmIndexHeads * kGlmIndexDim, kGlmQRank, 0.4);
    attention.matrix("indexer.wk", kGlmIndexDim, kGlmHidden, 0.3);
    attention.norm("indexer.k_norm", kGlmIndexDim);
    attention.bias("indexer.k_norm.bias", kGlmIndexDim, 0.3);
    attention.matrix("indexer.weights_proj", kGlmIndexHeads, kGlmHidden, 0.3);
  }
  if (layer < kGlmDenseLayers) return mlp.gated("", kGlmDense);
  mlp.matrix("gate", kGlmExperts, kGlmHidden, 0.4);
  mlp.bias("gate.e_score_correction_bias", kGlmExperts, 0.25);
  mlp.gated("shared_experts.", kGlmInner);
  for (std::uint64_t expert = 0; expert < kGlmExperts; ++expert)
    mlp.gated("experts." + std::to_string(expert) + ".", kGlmInner);
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
  std::vector<std::vector<HashTensor>> shards(kGlmLayers + 2);
  for (int layer = 0; layer <= kGlmLayers; ++layer) add_glm_layer(shards[static_cast<std::size_t>(layer)], layer);
  GlmTensors draft(shards[kGlmLayers], "model.layers." + std::to_string(kGlmLayers) + ".");
  draft.norm("enorm", kGlmHidden);
  draft.norm("hnorm", kGlmHidden);
  draft.matrix("eh_proj", kGlmHidden, 2 * kGlmHidden, 0.2);
  draft.norm("shared_head.norm", kGlmHidden);
  GlmTensors globals(shards.back(), "");
  globals.matrix("model.embed_tokens", kGlmVocab, kGlmHidden, 1);
  globals.norm("model.norm", kGlmHidden);
  globals.matrix("lm_head", kGlmVocab, kGlmHidden, 0.5);
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
