// The parity mode against an oracle with the release's roundings (tests/golden/deepseek_v4/parity.json, made by
// tools/oracle/parity_goldens_deepseek_v4.py): every rounding by itself, bit for bit, and logits of a text that no
// rounding hangs on a hair of.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "compute/activation_rounding.h"
#include "models/deepseek_v4/rounding.h"
#include "support/distances.h"
#include "support/engine/recorded_run.h"
#include "support/engine/traced_run.h"

namespace sluice::test {
namespace {

constexpr double kParityRelative = 1e-5;

const std::filesystem::path kParityFolder = std::filesystem::path(SLUICE_SOURCE_DIR) / "tests/golden/deepseek_v4";

const nlohmann::json& parity() {
  static const nlohmann::json parsed = [] {
    std::ifstream in(kParityFolder / "parity.json");
    return nlohmann::json::parse(in);
  }();
  return parsed;
}

// Vectors of one of the examples.
struct Example {
  explicit Example(const char* name) {
    const nlohmann::json& given = parity().at("roundings").at(name);
    for (const nlohmann::json& row : given)
      for (const nlohmann::json& value : row) values.push_back(value.get<float>());
    width = static_cast<int>(given.at(0).size());
  }
  Rows columns(int count) { return {values.data(), static_cast<int>(values.size()) / width, count, width}; }

  std::vector<float> values;
  int width = 0;
};

void expect_equal(Rows ours, const char* name) {
  Example wanted(name);
  ASSERT_EQ(ours.width, wanted.width);
  for (int row = 0; row < ours.rows; ++row)
    for (int column = 0; column < ours.width; ++column)
      EXPECT_EQ(ours[row][static_cast<std::size_t>(column)],
                wanted.values[static_cast<std::size_t>(row * wanted.width + column)])
          << name << " row " << row << " column " << column;
}

TEST(DeepSeekV4Parity, EveryRoundingIsTheOracles) {
  const deepseek_v4::Rounding round(true);
  Example plain("plain");
  round.tensor(plain.columns(plain.width));
  expect_equal(plain.columns(plain.width), "bf16");
  Example input("x"), key("x"), index("x"), heads("x");
  round.input(input.columns(input.width));
  expect_equal(input.columns(input.width), "input");
  round.key(key.columns(168), 8);
  expect_equal(key.columns(168), "key");
  round.index(index.columns(256), 128);
  expect_equal(index.columns(256), "index");
  rms_norm_in_bf16(heads.columns(192), 96, 1e-6f);
  expect_equal(heads.columns(192), "heads");
}

TEST(DeepSeekV4Parity, TheExactModeRoundsNothing) {
  const deepseek_v4::Rounding exact(false);
  Example given("plain");
  const Rows rows = given.columns(256);
  EXPECT_EQ(exact.input_copy(rows, Rows{}).data, rows.data);
  exact.tensor(rows);
  exact.input(rows);
  exact.key(rows, 8);
  exact.index(rows, 128);
  EXPECT_EQ(given.values, Example("plain").values);
}

// By rows of a chunk.
class DeepSeekV4ParityOracle : public testing::TestWithParam<int> {
 protected:
  DeepSeekV4ParityOracle() : directory_((kParityFolder / parity().at("model").get<std::string>()).string()) {
    options_.draft_head = true;
    options_.parity = true;
    options_.memory_bytes = resident_budget(directory_, options_);
    run_ = std::make_unique<TracedRun>(directory_, options_);
    rows_ = run_->feed(ids_, GetParam());
  }
  double distance_of(const TracedRow& row, const char* name, std::size_t place) {
    return distance(row.logits, parity().at(name)[place].get<std::vector<double>>());
  }

  std::string directory_;
  EngineOptions options_;
  std::vector<int> ids_ = parity().at("ids").get<std::vector<int>>();
  std::unique_ptr<TracedRun> run_;
  std::vector<TracedRow> rows_;
};

TEST_P(DeepSeekV4ParityOracle, LogitsAndArgmax) {
  const auto positions = parity().at("positions").get<std::vector<std::size_t>>();
  double worst = 0;
  for (std::size_t place = 0; place < positions.size(); ++place) {
    worst = std::max(worst, distance_of(rows_[positions[place]], "logits", place));
    EXPECT_LT(distance_of(rows_[positions[place]], "logits", place), kParityRelative) << positions[place];
  }
  for (std::size_t position = 0; position < rows_.size(); ++position)
    EXPECT_EQ(argmax(rows_[position].logits), parity().at("argmax")[position].get<int>()) << position;
  std::printf("worst relative distance of logits: %.2e\n", worst);
  EXPECT_GT(parity().at("distance_from_exact_mode").get<double>(), 0.1);  // what the roundings do could not hide
}

TEST_P(DeepSeekV4ParityOracle, ChosenEntries) {
  std::size_t compared = 0;
  for (const auto& [layer, picks] : parity().at("index_picks").items())
    for (std::size_t position = 0; position < rows_.size(); ++position)
      if (const auto found = rows_[position].keys.find(std::stoi(layer)); found != rows_[position].keys.end()) {
        EXPECT_EQ(found->second, picks[position].get<std::vector<int>>()) << layer << " position " << position;
        ++compared;
      }
  EXPECT_GT(compared, 20u);
}

TEST_P(DeepSeekV4ParityOracle, DraftHead) {
  const std::size_t pairs = rows_.size() - 1;
  const std::vector<TracedRow> drafts = run_->extend({rows_.data(), pairs}, std::span(ids_).subspan(1), GetParam());
  const auto positions = parity().at("draft_positions").get<std::vector<std::size_t>>();
  for (std::size_t place = 0; place < positions.size(); ++place)
    EXPECT_LT(distance_of(drafts[positions[place]], "mtp_logits", place), kParityRelative) << positions[place];
}

INSTANTIATE_TEST_SUITE_P(Chunks, DeepSeekV4ParityOracle, testing::Values(1, 7),
                         [](const auto& instance) { return "rows" + std::to_string(instance.param); });

}  // namespace
}  // namespace sluice::test
