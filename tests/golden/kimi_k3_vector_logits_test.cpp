// The engine against Kimi K3's golden vector: logits, router picks, residual norms and final states of the
// specification, section 9.7, for both conventions of the latent norms' epsilon. Tolerances are the vector's own (key
// tolerance_fp32).
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "support/damage.h"
#include "support/distances.h"
#include "support/engine/recorded_run.h"
#include "support/golden_vector.h"
#include "support/temp_dir.h"

namespace sluice::test {
namespace {

using nlohmann::json;

constexpr double kLogitTolerance = 3e-3, kWeightTolerance = 1e-4, kNormTolerance = 2e-4;

void expect_norm(std::span<const float> values, const json& wanted) {
  EXPECT_NEAR(l2(values), wanted.get<double>(), kNormTolerance * wanted.get<double>());
}

class KimiK3VectorRun : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    write_golden_vector(dir_ / "model");
    const double epsilon = expected().at("eps_q_a_and_kv_a_layernorm").get<double>();
    edit_config(dir_ / "model", [&](json& config) { config["text_config"]["mla_norm_eps"] = epsilon; });
    options_.memory_bytes = resident_budget(model());
    fed_ = golden_vector().at("prompt_ids").get<std::vector<int>>();
    greedy_ = expected().at("greedy_ids").get<std::vector<int>>();
    fed_.insert(fed_.end(), greedy_.begin(), greedy_.end() - 1);
  }
  std::string model() const { return (dir_ / "model").string(); }
  const json& expected() const { return golden_vector().at(GetParam()); }

  TempDir dir_;
  EngineOptions options_;
  std::vector<int> fed_, greedy_;
};

TEST_P(KimiK3VectorRun, LogitsAndArgmax) {
  Runner run(model(), options_);
  run.feed(fed_, 1);
  for (const auto& [position, logits] : expected().at("logits").items()) {
    const std::vector<float>& ours = run.record().logits[std::stoul(position)];
    ASSERT_EQ(ours.size(), logits.size());
    for (std::size_t id = 0; id < ours.size(); ++id)
      ASSERT_NEAR(ours[id], logits[id].get<double>(), kLogitTolerance) << "position " << position << " id " << id;
  }
  for (std::size_t position = 0; position < fed_.size(); ++position)
    if (expected().at("top2_margin")[position].get<double>() > 0.02) {
      EXPECT_EQ(argmax(run.record().logits[position]), expected().at("argmax")[position].get<int>())
          << "position " << position;
    }
}

TEST_P(KimiK3VectorRun, GreedyIdsFromChunkedPrefill) {
  Runner run(model(), options_);
  run.feed(golden_vector().at("prompt_ids").get<std::vector<int>>(), 7);
  EXPECT_EQ(run.greedy(static_cast<int>(greedy_.size())), greedy_);
}

TEST_P(KimiK3VectorRun, RouterPicksAndWeights) {
  Runner run(model(), options_);
  run.feed(fed_);
  for (const auto& [position, layers] : expected().at("router").items())
    for (const auto& [layer, pick] : layers.items()) {
      const std::vector<Route>& ours = run.record().routes[std::stoul(position)][std::stoul(layer)];
      ASSERT_EQ(ours.size(), pick.at("ids").size());
      for (std::size_t rank = 0; rank < ours.size(); ++rank) {  // theirs: by score; ours: by id
        const int id = pick.at("ids")[rank].get<int>();
        const auto found = std::ranges::find(ours, id, &Route::expert);
        ASSERT_NE(found, ours.end()) << "position " << position << " layer " << layer << " expert " << id;
        EXPECT_NEAR(found->weight, pick.at("w")[rank].get<double>(), kWeightTolerance);
      }
    }
}

TEST_P(KimiK3VectorRun, ResidualNormsByLayer) {
  Runner run(model(), options_);
  run.feed(fed_);
  for (const auto& [position, norms] : expected().at("prefix_l2").items())
    for (std::size_t layer = 0; layer < norms.size(); ++layer) {
      SCOPED_TRACE("position " + position + " layer " + std::to_string(layer));
      expect_norm(run.record().residual[std::stoul(position)][layer], norms[layer]);
    }
}

TEST_P(KimiK3VectorRun, FinalStates) {
  Runner run(model(), options_);
  run.feed(fed_);
  constexpr std::size_t kHeads = 5, kDim = 16, kHistory = 3 * kHeads * kDim, kLatent = 40, kRope = 8;
  const json& final_state = expected().at("final_state");
  for (const auto& [layer, norms] : final_state.at("kda_S_frobenius_per_head").items())
    for (std::size_t head = 0; head < kHeads; ++head)
      expect_norm(run.state().recurrent(std::stoi(layer)).subspan(head * kDim * kDim, kDim * kDim), norms[head]);
  for (const auto& [layer, norms] : final_state.at("kda_conv_history_l2_qkv").items())
    for (std::size_t stream = 0; stream < 3; ++stream)
      expect_norm(run.state().recurrent(std::stoi(layer)).subspan(kHeads * kDim * kDim + stream * kHistory, kHistory),
                  norms[stream]);
  for (const auto& [layer, norm] : final_state.at("mla_c_frobenius").items()) {
    std::vector<float> c, r;
    for (int position = 0; position < run.state().length(); ++position) {
      const std::span<float> row = run.state().log(std::stoi(layer)).row(position);
      c.insert(c.end(), row.begin(), row.begin() + kLatent);
      r.insert(r.end(), row.begin() + kLatent, row.begin() + kLatent + kRope);
    }
    expect_norm(c, norm);
    expect_norm(r, final_state.at("mla_r_frobenius").at(layer));
  }
}

INSTANTIATE_TEST_SUITE_P(Epsilons, KimiK3VectorRun, testing::Values("release_eps", "uniform_eps"),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace sluice::test
