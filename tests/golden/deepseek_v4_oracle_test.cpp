// What only DeepSeek-V4 has, against the float64 oracle on its tiny checkpoints (tests/golden/README.md): the choice of
// compressed entries and its scores, windows and entries that a run leaves behind, the MTP block, and drafts ahead.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "support/distances.h"
#include "support/engine/recorded_run.h"
#include "support/engine/traced_run.h"
#include "support/golden_arrays.h"

namespace sluice::test {
namespace {

constexpr double kRelative = 1e-5;

class DeepSeekV4Oracle : public testing::TestWithParam<const char*> {
 protected:
  DeepSeekV4Oracle()
      : directory_(std::filesystem::path(SLUICE_SOURCE_DIR) / "tests/golden/deepseek_v4" / GetParam()),
        golden_(directory_) {
    fed_ = golden_.facts().at("prompt_ids").get<std::vector<int>>();
    const auto greedy = golden_.facts().at("greedy_ids").get<std::vector<int>>();
    fed_.insert(fed_.end(), greedy.begin(), greedy.end());
    EngineOptions options;
    options.draft_head = true;
    options.memory_bytes = resident_budget(directory_.string(), options);
    run_ = std::make_unique<TracedRun>(directory_.string(), options);
    rows_ = run_->feed(fed_, 16);
    mtp_layer_ = golden_.facts().at("mtp_layer").get<int>();
  }
  std::span<const int> followers() const { return std::span(fed_).subspan(1); }

  void expect_rows(RowLog& log, const std::string& name, int first) {
    const std::vector<std::size_t> shape = golden_.shape(name);
    for (std::size_t row = 0; row < shape[0]; ++row)
      EXPECT_LT(distance(log.row(first + static_cast<int>(row)), golden_.at(name, {row})), kRelative)
          << name << " row " << row;
  }
  // Entries that the row saw: those chosen, or all that were closed.
  void expect_entries(const TracedRow& row, int layer, std::size_t position) {
    std::vector<int> wanted;
    for (const double entry : golden_.at("index_picks." + std::to_string(layer), {position}))
      if (entry >= 0) wanted.push_back(static_cast<int>(entry));
    const auto found = row.keys.find(layer);
    if (found == row.keys.end()) {
      EXPECT_EQ(wanted.size(), (position + 1) / 4) << "layer " << layer << " position " << position;
    } else {
      EXPECT_EQ(found->second, wanted) << "layer " << layer << " position " << position;
    }
  }

  std::filesystem::path directory_;
  GoldenArrays golden_;
  std::vector<int> fed_;
  std::unique_ptr<TracedRun> run_;
  std::vector<TracedRow> rows_;
  int mtp_layer_ = 0;
};

TEST_P(DeepSeekV4Oracle, LogitsAndStreamsOfEveryRowOfAChunk) {
  for (std::size_t position = 0; position < rows_.size(); ++position) {
    EXPECT_LT(distance(rows_[position].logits, golden_.at("logits", {position})), kRelative) << position;
    for (std::size_t layer = 0; layer < golden_.shape("prefix_l2")[0]; ++layer) {
      const double wanted = golden_.at("prefix_l2", {layer})[position];
      EXPECT_NEAR(l2(rows_[position].residual.at(static_cast<int>(layer))), wanted, kRelative * wanted);
    }
  }
}

TEST_P(DeepSeekV4Oracle, ChosenEntriesAndTheirScores) {
  const auto positions = golden_.facts().at("prefix_positions").get<std::vector<std::size_t>>();
  std::size_t compared = 0;
  for (const int layer : golden_.facts().at("index_layers").get<std::vector<int>>()) {
    for (std::size_t position = 0; position < rows_.size(); ++position)
      expect_entries(rows_[position], layer, position);
    for (std::size_t place = 0; place < positions.size(); ++place) {
      const TracedRow& row = rows_[positions[place]];
      if (!row.scores.contains(layer)) continue;  // nothing had to be left out
      const std::span<const double> wanted = golden_.at("index_scores." + std::to_string(layer), {place});
      EXPECT_LT(distance(row.scores.at(layer), wanted.first((positions[place] + 1) / 4)), kRelative)
          << "layer " << layer << " position " << positions[place];
      ++compared;
    }
  }
  EXPECT_GT(compared, 8u);
}

// Windows are logs 0, 1, …; behind them, layer by layer: open windows and entries of the compressor, then the
// indexer's.
TEST_P(DeepSeekV4Oracle, WindowsAndEntriesAfterTheLastPosition) {
  const int layers = run_->engine().options().layers;
  int log = layers;
  for (int layer = 0; layer < layers; ++layer) {
    const std::string name = std::to_string(layer);
    const auto kept = static_cast<int>(golden_.shape("window." + name)[0]);
    expect_rows(run_->state().log(layer), "window." + name, static_cast<int>(fed_.size()) - kept);
    for (const char* list : {"entries.", "index_entries."}) {
      if (!golden_.has(list + name)) continue;
      expect_rows(run_->state().log(log + 1), list + name, 0);
      log += 2;
    }
  }
  EXPECT_EQ(log, run_->state().logs());
}

TEST_P(DeepSeekV4Oracle, MtpBlockOverTheTrueHistory) {
  const std::size_t pairs = rows_.size() - 1;
  const std::vector<TracedRow> rows = run_->extend({rows_.data(), pairs}, followers(), 16);
  for (std::size_t position = 0; position < pairs; ++position) {
    EXPECT_LT(distance(rows[position].logits, golden_.at("mtp_logits", {position})), kRelative) << position;
    const std::vector<Route>& ours = rows[position].routes.at(mtp_layer_);
    const std::span<const double> ids = golden_.at("mtp_router_ids", {position});
    const std::span<const double> weights = golden_.at("mtp_router_weights", {position});
    for (std::size_t rank = 0; rank < ids.size(); ++rank) {
      const auto found = std::ranges::find(ours, static_cast<int>(ids[rank]), &Route::expert);
      ASSERT_NE(found, ours.end()) << "position " << position;
      EXPECT_NEAR(found->weight, weights[rank], kRelative * std::fabs(weights[rank]) * 10);
    }
  }
  const std::string name = "window." + std::to_string(mtp_layer_);
  expect_rows(run_->draft_state().log(0), name, static_cast<int>(pairs) - static_cast<int>(golden_.shape(name)[0]));
}

// Drafting ahead is the block over its own streams: the same bits as if the drafts had been true. Nothing of it stays.
TEST_P(DeepSeekV4Oracle, DraftsAheadEqualTheBlockOverItsOwnStreams) {
  const std::size_t first = 40;
  constexpr int kAhead = 9;
  std::vector<TracedRow> history = run_->extend({rows_.data(), first}, followers().first(first), 7);
  std::vector<std::vector<float>> drafted;
  std::vector<int> tokens;
  std::vector<TracedRow> streams;
  std::vector<float> logits = history.back().logits;
  for (int step = 0; step < kAhead; ++step) {
    tokens.push_back(argmax(logits));
    streams.push_back({});
    streams.back().hidden = run_->cursor().hidden;
    logits = run_->ahead(tokens.back());
    drafted.push_back(logits);
  }
  EXPECT_EQ(run_->draft_state().length(), static_cast<int>(first));
  const std::vector<TracedRow> again = run_->extend(streams, tokens, 4);
  for (std::size_t step = 0; step < kAhead; ++step) EXPECT_EQ(again[step].logits, drafted[step]) << "step " << step;
}

// Rows that are tried and forgotten, in the middle of windows too, leave no trace: every true row has the bits of a run
// without them.
TEST_P(DeepSeekV4Oracle, RowsTakenBackLeaveNoTrace) {
  EngineOptions options;
  options.memory_bytes = resident_budget(directory_.string(), options);
  TracedRun run(directory_.string(), options);
  std::mt19937 random(4);
  for (std::size_t position = 0; position < fed_.size();) {
    const std::size_t keep = std::min<std::size_t>(random() % 6, fed_.size() - position);
    std::vector<int> tried(fed_.begin() + static_cast<std::ptrdiff_t>(position),
                           fed_.begin() + static_cast<std::ptrdiff_t>(position + keep));
    for (std::size_t wrong = 1 + random() % 20; wrong > 0; --wrong) tried.push_back(static_cast<int>(random() % 500));
    const std::vector<TracedRow> rows = run.try_rows(tried, static_cast<int>(keep));
    for (std::size_t row = 0; row < keep; ++row)
      ASSERT_EQ(rows[row].logits, rows_[position + row].logits) << "position " << position + row;
    position += keep;
  }
}

// 600 positions: lists and windows of many pages, 150 entries of which four are seen. An entry in a wrong place shows.
class DeepSeekV4OracleOfALongText : public testing::TestWithParam<int> {};

TEST_P(DeepSeekV4OracleOfALongText, LogitsAndChoices) {
  const std::filesystem::path folder = std::filesystem::path(SLUICE_SOURCE_DIR) / "tests/golden/deepseek_v4";
  std::ifstream in(folder / "long.json");
  const nlohmann::json golden = nlohmann::json::parse(in);
  const std::string directory = (folder / golden.at("model").get<std::string>()).string();
  EngineOptions options;
  options.context = 1024;
  options.memory_bytes = resident_budget(directory, options);
  TracedRun run(directory, options);
  const std::vector<TracedRow> rows = run.feed(golden.at("ids").get<std::vector<int>>(), GetParam());
  const auto positions = golden.at("positions").get<std::vector<std::size_t>>();
  for (std::size_t place = 0; place < positions.size(); ++place) {
    const TracedRow& row = rows[positions[place]];
    EXPECT_LT(distance(row.logits, golden.at("logits")[place].get<std::vector<double>>()), kRelative)
        << positions[place];
    EXPECT_EQ(argmax(row.logits), golden.at("argmax")[place].get<int>()) << positions[place];
    for (const auto& [layer, picks] : golden.at("index_picks").items())
      if (row.keys.contains(std::stoi(layer))) {
        EXPECT_EQ(row.keys.at(std::stoi(layer)), picks[place].get<std::vector<int>>()) << positions[place];
      }
  }
  EXPECT_TRUE(rows.back().keys.contains(1));
}

INSTANTIATE_TEST_SUITE_P(Chunks, DeepSeekV4OracleOfALongText, testing::Values(1, 13, 64),
                         [](const auto& instance) { return "rows" + std::to_string(instance.param); });

INSTANTIATE_TEST_SUITE_P(Models, DeepSeekV4Oracle, testing::Values("a", "b"),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace sluice::test
