// The engine against OLMoE's golden vector (specification, section 5.1): three variants of one model whose weights come
// from a hash. The vector is float64 and nothing in it sits near a tie, so every id must be equal; tolerances are the
// specification's.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "support/distances.h"
#include "support/engine/recorded_run.h"
#include "support/golden_vector.h"
#include "support/hash_checkpoint.h"
#include "support/temp_dir.h"

namespace sluice::test {
namespace {

using nlohmann::json;

constexpr double kOlmoeLogits = 5e-5, kOlmoeWeights = 1e-5, kOlmoeRelativeNorm = 1e-5, kOlmoeSums = 1e-3;

const json& vector_file() {
  static const json vector = [] {
    std::ifstream in(SLUICE_SOURCE_DIR "/tests/golden/olmoe/spec_vector.json");
    return json::parse(in);
  }();
  return vector;
}

json config_of(const std::string& variant) {
  json config = vector_file().at("config");
  config.update(vector_file().at("variants").at(variant).at("overrides"));
  config["model_type"] = "olmoe";
  return config;
}

// Names and scales are spelled here a second time on purpose. The experts of a layer may be fused: the same values in
// tensors that hold them all.
struct VectorTensors {
  std::vector<HashTensor> all;

  explicit VectorTensors(const json& config) {
    const auto number = [&](const char* name) { return config.at(name).get<std::uint64_t>(); };
    const std::uint64_t hidden = number("hidden_size"), vocab = number("vocab_size"),
                        inner = number("intermediate_size"), experts = number("num_experts");
    const std::uint64_t kv = hidden / number("num_attention_heads") * number("num_key_value_heads");
    const auto add = [&](const std::string& name, std::vector<std::uint64_t> shape, double a, double b = 0) {
      all.push_back({name + ".weight", std::move(shape), a, b});
    };
    add("model.embed_tokens", {vocab, hidden}, 1);
    add("lm_head", {vocab, hidden}, 0.5);
    add("model.norm", {hidden}, 0.3, 1);
    for (std::uint64_t layer = 0; layer < number("num_hidden_layers"); ++layer) {
      const std::string prefix = "model.layers." + std::to_string(layer) + ".", attention = prefix + "self_attn.";
      add(prefix + "input_layernorm", {hidden}, 0.3, 1);
      add(prefix + "post_attention_layernorm", {hidden}, 0.3, 1);
      add(attention + "q_norm", {hidden}, 0.3, 1);
      add(attention + "k_norm", {kv}, 0.3, 1);
      add(attention + "q_proj", {hidden, hidden}, 0.06);
      add(attention + "k_proj", {kv, hidden}, 0.06);
      add(attention + "v_proj", {kv, hidden}, 0.3);
      add(attention + "o_proj", {hidden, hidden}, 0.4);
      add(prefix + "mlp.gate", {experts, hidden}, 0.4);
      for (std::uint64_t expert = 0; expert < experts; ++expert) {
        const std::string own = prefix + "mlp.experts." + std::to_string(expert) + ".";
        add(own + "gate_proj", {inner, hidden}, 0.3);
        add(own + "up_proj", {inner, hidden}, 0.3);
        add(own + "down_proj", {hidden, inner}, 0.3);
      }
    }
  }
};

TEST(OlmoeVector, GeneratorMakesTheWeightsOfTheSpecification) {
  expect_tensors_of(vector_file(), {VectorTensors(config_of("A")).all});
}

class OlmoeVectorRun : public testing::TestWithParam<const char*> {
 protected:
  OlmoeVectorRun() {
    const json config = config_of(GetParam());
    write_hash_checkpoint(dir_ / "model", {VectorTensors(config).all}, config);
    options_.memory_bytes = resident_budget(model());
    tokens_ = vector_file().at("tokens").get<std::vector<int>>();
  }
  std::string model() const { return (dir_ / "model").string(); }
  const json& expected() const { return vector_file().at("variants").at(GetParam()); }
  std::vector<std::size_t> positions() const { return expected().at("positions").get<std::vector<std::size_t>>(); }

  TempDir dir_;
  EngineOptions options_;
  std::vector<int> tokens_;
};

TEST_P(OlmoeVectorRun, LogitsAndArgmax) {
  Runner run(model(), options_);
  run.feed(tokens_, 1);
  for (std::size_t place = 0; place < positions().size(); ++place) {
    const std::vector<float>& ours = run.record().logits[positions()[place]];
    const json& theirs = expected().at("logits")[place];
    ASSERT_EQ(ours.size(), theirs.size());
    for (std::size_t id = 0; id < ours.size(); ++id)
      ASSERT_NEAR(ours[id], theirs[id].get<double>(), kOlmoeLogits)
          << "position " << positions()[place] << " id " << id;
  }
  for (std::size_t position = 0; position < tokens_.size(); ++position) {
    const std::vector<float>& ours = run.record().logits[position];
    EXPECT_EQ(argmax(ours), expected().at("argmax")[position].get<int>()) << "position " << position;
    double sum = 0;
    for (float logit : ours) sum += static_cast<double>(logit);
    EXPECT_NEAR(sum, expected().at("logit_sums")[position].get<double>(), kOlmoeSums) << "position " << position;
  }
}

TEST_P(OlmoeVectorRun, ExpertsAndTheirWeights) {
  Runner run(model(), options_);
  run.feed(tokens_);
  for (const auto& [layer, by_position] : expected().at("experts").items())
    for (std::size_t position = 0; position < tokens_.size(); ++position) {
      SCOPED_TRACE("layer " + layer + " position " + std::to_string(position));
      std::vector<int> ids;
      for (const Route& route : run.record().routes[position][std::stoul(layer)]) ids.push_back(route.expert);
      EXPECT_EQ(ids, by_position[position].get<std::vector<int>>());
    }
  for (const auto& [layer, weights] : expected().at("expert_weights_last").items()) {
    const std::vector<Route>& ours = run.record().routes.back()[std::stoul(layer)];
    for (std::size_t place = 0; place < ours.size(); ++place)
      EXPECT_NEAR(ours[place].weight, weights[place].get<double>(), kOlmoeWeights) << "layer " << layer;
  }
}

TEST_P(OlmoeVectorRun, ResidualNormsByLayer) {
  Runner run(model(), options_);
  run.feed(tokens_);
  for (std::size_t place = 0; place < positions().size(); ++place) {
    const json& norms = expected().at("residual_norms")[place];
    for (std::size_t layer = 0; layer < norms.size(); ++layer)
      EXPECT_NEAR(l2(run.record().residual[positions()[place]][layer]), norms[layer].get<double>(),
                  kOlmoeRelativeNorm * norms[layer].get<double>())
          << "position " << positions()[place] << " layer " << layer;
  }
}

TEST_P(OlmoeVectorRun, GreedyIdsAndTheirLogitsAfterChunkedPrefill) {
  const json& greedy = expected().at("greedy");
  const auto ids = greedy.at("tokens").get<std::vector<int>>();
  Runner run(model(), options_);
  run.feed(tokens_, 7);
  EXPECT_EQ(run.greedy(static_cast<int>(ids.size())), ids);
  for (std::size_t step = 0; step < ids.size(); ++step) {
    const std::vector<float>& ours = run.record().logits[tokens_.size() + step];
    EXPECT_EQ(argmax(ours), greedy.at("argmax_after")[step].get<int>());
    for (std::size_t id = 0; id < 6; ++id)
      EXPECT_NEAR(ours[id], greedy.at("logits_first6")[step][id].get<double>(), kOlmoeLogits) << "step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, OlmoeVectorRun, testing::Values("A", "B", "C"),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace sluice::test
