// What only the GLM family has, against the float64 oracle on its tiny checkpoints (tests/golden/README.md): the choice
// of keys, the index keys in the cache, the draft head over the true history, and 64 times three drafts.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "support/distances.h"
#include "support/engine/oracle_run.h"
#include "support/engine/recorded_run.h"

namespace sluice::test {
namespace {

class GlmOracle : public OracleRun {
 protected:
  GlmOracle() : OracleRun("glm_dsa", 1) {}

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
    for (std::size_t position = 0; position < rows_.size(); ++position) expect_picks(rows_[position], layer, position);
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
    expect_draft_routes(rows[position], position);
    if (golden_.has("index_picks." + layer)) expect_picks(rows[position], draft_layer_, position);
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
