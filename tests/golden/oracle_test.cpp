// The engine against the float64 oracle on the tiny checkpoints of every family in tests/golden (how they were made and
// what they hold: tests/golden/README.md). Logits within 1e-5 relative at every position; picks, argmax and 64 greedy
// ids identical; the states that a run leaves behind.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "support/distances.h"
#include "support/engine/recorded_run.h"
#include "support/golden_arrays.h"
#include "support/golden_models.h"

namespace sluice::test {
namespace {

constexpr double kRelative = 1e-5;

class Oracle : public testing::TestWithParam<const char*> {
 protected:
  Oracle() : directory_(std::filesystem::path(SLUICE_SOURCE_DIR) / "tests/golden" / GetParam()), golden_(directory_) {
    prompt_ = golden_.facts().at("prompt_ids").get<std::vector<int>>();
    greedy_ = golden_.facts().at("greedy_ids").get<std::vector<int>>();
    fed_ = prompt_;
    fed_.insert(fed_.end(), greedy_.begin(), greedy_.end());
    options_.memory_bytes = resident_budget(directory_.string());
  }
  std::vector<int> layers(const char* kind) const { return golden_.facts().at(kind).get<std::vector<int>>(); }

  std::filesystem::path directory_;
  GoldenArrays golden_;
  EngineOptions options_;
  std::vector<int> prompt_, greedy_, fed_;
};

TEST_P(Oracle, LogitsAndArgmaxAtEveryPosition) {
  Runner run(directory_.string(), options_);
  run.feed(fed_, 1);
  double worst = 0;
  for (std::size_t position = 0; position < fed_.size(); ++position) {
    const std::vector<float>& ours = run.record().logits[position];
    const std::span<const double> theirs = golden_.at("logits", {position});
    ASSERT_EQ(ours.size(), theirs.size());
    worst = std::max(worst, distance(ours, theirs));
    EXPECT_LT(distance(ours, theirs), kRelative) << "position " << position;
    EXPECT_EQ(argmax(ours), std::ranges::max_element(theirs) - theirs.begin()) << "position " << position;
  }
  RecordProperty("worst_relative_distance", std::to_string(worst));
  std::printf("worst relative distance of logits: %.2e\n", worst);
}

TEST_P(Oracle, SixtyFourGreedyIds) {
  Runner run(directory_.string(), options_);
  run.feed(prompt_, 16);
  EXPECT_EQ(run.greedy(static_cast<int>(greedy_.size())), greedy_);
}

TEST_P(Oracle, RouterPicksAndWeightsAtEveryPosition) {
  Runner run(directory_.string(), options_);
  run.feed(fed_);
  const std::vector<int> moe = layers("moe_layers");
  for (std::size_t place = 0; place < moe.size(); ++place)
    for (std::size_t position = 0; position < fed_.size(); ++position) {
      const std::vector<Route>& ours = run.record().routes[position][static_cast<std::size_t>(moe[place])];
      const std::span<const double> ids = golden_.at("router_ids", {place, position});
      const std::span<const double> weights = golden_.at("router_weights", {place, position});
      ASSERT_EQ(ours.size(), ids.size());
      for (std::size_t rank = 0; rank < ids.size(); ++rank) {
        const auto found = std::ranges::find(ours, static_cast<int>(ids[rank]), &Route::expert);
        ASSERT_NE(found, ours.end()) << "layer " << moe[place] << " position " << position;
        ASSERT_NEAR(found->weight, weights[rank], kRelative * std::fabs(weights[rank]) * 10) << "layer " << moe[place];
      }
    }
}

TEST_P(Oracle, ResidualAfterEveryLayer) {
  Runner run(directory_.string(), options_);
  run.feed(fed_);
  const auto positions = golden_.facts().at("prefix_positions").get<std::vector<std::size_t>>();
  for (std::size_t layer = 0; layer < golden_.shape("prefix")[0]; ++layer)
    for (std::size_t place = 0; place < positions.size(); ++place)
      EXPECT_LT(distance(run.record().residual[positions[place]][layer], golden_.at("prefix", {layer, place})),
                kRelative)
          << "layer " << layer << " position " << positions[place];
}

TEST_P(Oracle, StatesAfterTheLastPosition) {
  Runner run(directory_.string(), options_);
  run.feed(fed_);
  for (int layer = 0; layer < run.engine().options().layers; ++layer) {
    const std::string name = std::to_string(layer);
    SCOPED_TRACE("layer " + name);
    if (golden_.has("kda_state." + name)) {
      const std::span<const double> matrices = golden_.at("kda_state." + name, {});
      const std::span<const double> history = golden_.at("kda_conv." + name, {});
      const std::span<float> ours = run.state().recurrent(layer);
      ASSERT_EQ(ours.size(), matrices.size() + history.size());
      EXPECT_LT(distance(ours.first(matrices.size()), matrices), kRelative);
      EXPECT_LT(distance(ours.subspan(matrices.size()), history), kRelative);
      continue;
    }
    if (golden_.has("window." + name)) continue;  // deepseek_v4_oracle_test.cpp
    // The two parts of a row of the cache: latent and shared key, or keys and values.
    const bool latent = golden_.has("mla_c." + name);
    const std::string first = (latent ? "mla_c." : "key.") + name, second = (latent ? "mla_r." : "value.") + name;
    const std::size_t width = golden_.shape(first)[1];
    for (std::size_t position = 0; position < fed_.size(); ++position) {
      const std::span<float> row = run.state().log(layer).row(static_cast<int>(position));
      ASSERT_EQ(row.size(), width + golden_.shape(second)[1]);
      EXPECT_LT(distance(row.first(width), golden_.at(first, {position})), kRelative);
      EXPECT_LT(distance(row.subspan(width), golden_.at(second, {position})), kRelative);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Oracle, testing::ValuesIn(kGoldenModels), golden_model_name);

}  // namespace
}  // namespace sluice::test
