// What only DeepSeek-V4 has, against the float64 oracle on its tiny checkpoints (tests/golden/README.md): the choice of
// compressed entries and its scores, windows and entries that a run leaves behind, the MTP block, and drafts ahead.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "support/distances.h"
#include "support/engine/oracle_run.h"
#include "support/engine/recorded_run.h"

namespace sluice::test {
namespace {

class DeepSeekV4Oracle : public OracleRun {
 protected:
  DeepSeekV4Oracle() : OracleRun("deepseek_v4", 4) {}

  void expect_rows(RowLog& log, const std::string& name, int first) {
    const std::vector<std::size_t> shape = golden_.shape(name);
    for (std::size_t row = 0; row < shape[0]; ++row)
      EXPECT_LT(distance(log.row(first + static_cast<int>(row)), golden_.at(name, {row})), kRelative)
          << name << " row " << row;
  }
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
  std::size_t compared = 0;
  for (const int layer : golden_.facts().at("index_layers").get<std::vector<int>>()) {
    for (std::size_t position = 0; position < rows_.size(); ++position) expect_picks(rows_[position], layer, position);
    compared += expect_scores(rows_, layer);
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
    expect_draft_routes(rows[position], position);
  }
  const std::string name = "window." + std::to_string(draft_layer_);
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
