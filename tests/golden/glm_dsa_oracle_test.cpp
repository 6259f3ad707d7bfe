// What only the GLM family has, against the float64 oracle on its tiny checkpoints (tests/golden/README.md): the choice
// of keys, the index keys in the cache, the draft head over the true history, and 64 times three drafts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/distances.h"
#include "support/engine/recorded_run.h"
#include "support/engine/traced_run.h"
#include "support/golden_arrays.h"

namespace sluice::test {
namespace {

constexpr double kRelative = 1e-5;

class GlmOracle : public testing::TestWithParam<const char*> {
 protected:
  GlmOracle()
      : directory_(std::filesystem::path(SLUICE_SOURCE_DIR) / "tests/golden/glm_dsa" / GetParam()),
        golden_(directory_) {
    fed_ = golden_.facts().at("prompt_ids").get<std::vector<int>>();
    const auto greedy = golden_.facts().at("greedy_ids").get<std::vector<int>>();
    fed_.insert(fed_.end(), greedy.begin(), greedy.end());
    EngineOptions options;
    options.draft_head = true;
    options.memory_bytes = resident_budget(directory_.string(), options);
    run_ = std::make_unique<TracedRun>(directory_.string(), options);
    rows_ = run_->feed(fed_, 16);
    draft_layer_ = golden_.facts().at("mtp_layer").get<int>();
  }
  std::span<const int> followers() const { return std::span(fed_).subspan(1); }

  // Positions that the row saw in a layer with an indexer: those chosen, or all.
  void expect_keys(const TracedRow& row, int layer, std::size_t position) {
    const std::span<const double> wanted = golden_.at("index_picks." + std::to_string(layer), {position});
    std::vector<int> keys;
    for (double key : wanted)
      if (key >= 0) keys.push_back(static_cast<int>(key));
    const auto found = row.keys.find(layer);
    if (found == row.keys.end()) {
      EXPECT_EQ(keys.size(), position + 1) << "layer " << layer << " position " << position;
    } else {
      EXPECT_EQ(found->second, keys) << "layer " << layer << " position " << position;
    }
  }
  void expect_scores(std::span<const TracedRow> rows, int layer) {
    const auto positions = golden_.facts().at("prefix_positions").get<std::vector<std::size_t>>();
    for (std::size_t place = 0; place < golden_.shape("index_scores." + std::to_string(layer))[0]; ++place) {
      const TracedRow& row = rows[positions[place]];
      if (!row.scores.contains(layer)) continue;  // nothing had to be left out
      const std::span<const double> wanted = golden_.at("index_scores." + std::to_string(layer), {place});
      EXPECT_LT(distance(row.scores.at(layer), wanted.first(positions[place] + 1)), kRelative)
          << "layer " << layer << " position " << positions[place];
    }
  }
  void expect_log(RowLog& log, const std::string& first, const std::string& second, std::size_t rows) {
    const std::size_t width = golden_.shape(first)[1];
    for (std::size_t position = 0; position < rows; ++position) {
      const std::span<float> row = log.row(static_cast<int>(position));
      EXPECT_LT(distance(row.first(width), golden_.at(first, {position})), kRelative) << first << " " << position;
      if (!second.empty()) {
        EXPECT_LT(distance(row.subspan(width), golden_.at(second, {position})), kRelative) << second << " " << position;
      }
    }
  }

  std::filesystem::path directory_;
  GoldenArrays golden_;
  std::vector<int> fed_;
  std::unique_ptr<TracedRun> run_;
  std::vector<TracedRow> rows_;
  int draft_layer_ = 0;
};

TEST_P(GlmOracle, LogitsOfEveryRowOfAChunk) {
  double worst = 0;
  for (std::size_t position = 0; position < rows_.size(); ++position)
    worst = std::max(worst, distance(rows_[position].logits, golden_.at("logits", {position})));
  EXPECT_LT(worst, kRelative);
  const auto positions = golden_.facts().at("prefix_positions").get<std::vector<std::size_t>>();
  for (std::size_t place = 0; place < positions.size(); ++place)
    EXPECT_LT(distance(rows_[positions[place]].hidden, golden_.at("final_norm", {place})), kRelative);
}

TEST_P(GlmOracle, ChosenKeysScoresAndIndexKeys) {
  int log = run_->engine().options().layers;
  for (const int layer : golden_.facts().at("index_layers").get<std::vector<int>>()) {
    for (std::size_t position = 0; position < rows_.size(); ++position) expect_keys(rows_[position], layer, position);
    expect_scores(rows_, layer);
    expect_log(run_->state().log(log++), "index_key." + std::to_string(layer), "", rows_.size());
  }
}

TEST_P(GlmOracle, DraftHeadOverTheTrueHistory) {
  const std::size_t pairs = rows_.size() - 1;
  const std::string layer = std::to_string(draft_layer_);
  const std::vector<TracedRow> rows = run_->extend({rows_.data(), pairs}, followers(), 16);
  double worst = 0;
  for (std::size_t position = 0; position < pairs; ++position) {
    worst = std::max(worst, distance(rows[position].logits, golden_.at("mtp_logits", {position})));
    const std::vector<Route>& ours = rows[position].routes.at(draft_layer_);
    const std::span<const double> ids = golden_.at("mtp_router_ids", {position});
    const std::span<const double> weights = golden_.at("mtp_router_weights", {position});
    for (std::size_t rank = 0; rank < ids.size(); ++rank) {
      const auto found = std::ranges::find(ours, static_cast<int>(ids[rank]), &Route::expert);
      ASSERT_NE(found, ours.end()) << "position " << position;
      EXPECT_NEAR(found->weight, weights[rank], kRelative * std::fabs(weights[rank]) * 10);
    }
    if (golden_.has("index_picks." + layer)) expect_keys(rows[position], draft_layer_, position);
  }
  EXPECT_LT(worst, kRelative);
  expect_log(run_->draft_state().log(0), "mla_c." + layer, "mla_r." + layer, pairs);
  if (!golden_.has("index_key." + layer)) return;
  expect_scores(rows, draft_layer_);
  expect_log(run_->draft_state().log(1), "index_key." + layer, "", pairs);
}

// At each position of the greedy text three drafts, of which the head keeps nothing.
TEST_P(GlmOracle, Drafts) {
  const auto first = golden_.facts().at("first_draft_position").get<std::size_t>();
  const auto kept = golden_.facts().at("drafts_kept").get<std::vector<std::size_t>>();
  run_->extend({rows_.data(), first}, followers().first(first), 7);
  for (std::size_t draft = 0; draft < golden_.shape("draft_ids")[0]; ++draft) {
    const std::size_t position = first + draft;
    if (position + 1 >= fed_.size()) break;
    const std::span<const double> wanted = golden_.at("draft_ids", {draft});
    const auto keep = std::ranges::find(kept, draft);
    std::vector<float> logits = run_->extend({&rows_[position], 1}, followers().subspan(position, 1)).front().logits;
    std::size_t right = 0;
    for (std::size_t step = 0; step < wanted.size(); ++step) {
      const int token = argmax(logits);
      ASSERT_EQ(token, static_cast<int>(wanted[step])) << "draft " << draft << " step " << step;
      if (keep != kept.end()) {
        const auto place = static_cast<std::size_t>(keep - kept.begin());
        EXPECT_LT(distance(logits, golden_.at("draft_logits", {place, step})), kRelative);
      }
      const std::size_t follower = position + 2 + step;
      if (right == step && follower < fed_.size() && fed_[follower] == token) ++right;
      logits = run_->ahead(token);
    }
    if (position + 1 + wanted.size() < fed_.size()) {
      EXPECT_EQ(right, static_cast<std::size_t>(golden_.at("draft_accepted", {draft})[0])) << "draft " << draft;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, GlmOracle, testing::Values("a", "b", "c", "d"),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace sluice::test
