// The engine against DeepSeek-V4's golden vector (specification, section 9.3), whose weights are all F32: logits,
// streams, experts, chosen entries and the MTP block. Its numbers have six decimals, and nothing sits near a tie.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "support/engine/recorded_run.h"
#include "support/engine/traced_run.h"
#include "support/golden_vector.h"
#include "support/temp_dir.h"
#include "support/v4_other_names.h"
#include "support/v4_vector.h"

namespace sluice::test {
namespace {

using nlohmann::json;

constexpr double kV4Logits = 1e-5;
constexpr int kV4DraftLayer = 4;

TEST(DeepSeekV4Vector, GeneratorMakesTheWeightsOfTheSpecification) {
  const std::string name = "embed.weight";
  const std::uint64_t hash = fnv1a64(std::as_bytes(std::span(name)));
  EXPECT_EQ(hash, 0x9ac37bcac2dc8a00u);
  EXPECT_EQ(golden_word(hash, 0), 0x847c3095632f2542u);
  EXPECT_EQ(golden_word(hash, 1), 0x05c017986ea89ddeu);
  std::map<std::string, HashTensor> by_name;
  for (const auto& shard : v4_tensors())
    for (const HashTensor& tensor : shard) by_name.emplace(tensor.name, tensor);
  const std::vector<float> embedding = by_name.at(name).values();
  EXPECT_NEAR(embedding[0], .0350399, 1e-7);
  EXPECT_NEAR(embedding[1], -.9550754, 1e-7);
  EXPECT_NEAR(embedding[2], -.8646539, 1e-7);
  const auto rows = [&](int layer, std::size_t count) {
    const std::vector<std::int64_t>& ids = by_name.at("layers." + std::to_string(layer) + ".ffn.gate.tid2eid").ids;
    return std::vector<std::int64_t>(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count));
  };
  EXPECT_EQ(rows(0, 8), (std::vector<std::int64_t>{0, 3, 0, 2, 2, 0, 2, 1}));
  EXPECT_EQ(rows(1, 6), (std::vector<std::int64_t>{0, 4, 2, 5, 1, 2}));
}

// By rows of a chunk; 0: all at once.
class DeepSeekV4VectorRun : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    write_v4_vector(dir_ / "model");
    options_.draft_head = true;
    options_.memory_bytes = resident_budget((dir_ / "model").string(), options_);
    run_ = std::make_unique<TracedRun>((dir_ / "model").string(), options_);
    rows_ = run_->feed(tokens_, GetParam());
  }
  void expect_logits(const std::vector<TracedRow>& rows, const json& wanted) {
    double worst = 0;
    for (std::size_t position = 0; position < wanted.size(); ++position) {
      const auto theirs = wanted[position].get<std::vector<double>>();
      ASSERT_EQ(rows[position].logits.size(), theirs.size());
      for (std::size_t id = 0; id < theirs.size(); ++id)
        worst = std::max(worst, std::fabs(static_cast<double>(rows[position].logits[id]) - theirs[id]));
      EXPECT_EQ(argmax(rows[position].logits), std::ranges::max_element(theirs) - theirs.begin()) << position;
    }
    EXPECT_LT(worst, kV4Logits);
    std::printf("worst difference of logits: %.2e\n", worst);
  }

  TempDir dir_;
  EngineOptions options_;
  const json& golden_ = v4_vector();
  const std::vector<int> tokens_ = golden_.at("tokens").get<std::vector<int>>();
  std::unique_ptr<TracedRun> run_;
  std::vector<TracedRow> rows_;
};

TEST_P(DeepSeekV4VectorRun, Logits) { expect_logits(rows_, golden_.at("logits")); }

TEST_P(DeepSeekV4VectorRun, StreamsAfterEveryLayer) {
  for (const auto& [name, position] : {std::pair{"layer_stream_row_sums_pos0", std::size_t{0}},
                                       std::pair{"layer_stream_row_sums_pos23", std::size_t{23}}}) {
    const json& layers = golden_.at(name);
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      const std::vector<float>& streams = rows_[position].residual.at(static_cast<int>(layer));
      const std::size_t width = streams.size() / layers[layer].size();
      for (std::size_t stream = 0; stream < layers[layer].size(); ++stream) {
        const auto first = streams.begin() + static_cast<std::ptrdiff_t>(stream * width);
        EXPECT_NEAR(std::accumulate(first, first + static_cast<std::ptrdiff_t>(width), 0.0),
                    layers[layer][stream].get<double>(), kV4Logits)
            << name << " layer " << layer << " stream " << stream;
      }
    }
  }
}

TEST_P(DeepSeekV4VectorRun, Experts) {
  const json& positions = golden_.at("experts");
  for (std::size_t position = 0; position < positions.size(); ++position)
    for (std::size_t layer = 0; layer < positions[position].size(); ++layer) {
      std::vector<int> chosen;
      for (const Route& route : rows_[position].routes.at(static_cast<int>(layer))) chosen.push_back(route.expert);
      EXPECT_EQ(chosen, positions[position][layer].get<std::vector<int>>()) << position << " layer " << layer;
    }
}

// A layer that left nothing out does not tell its entries: they are all that are closed.
TEST_P(DeepSeekV4VectorRun, ChosenEntries) {
  for (const auto& [layer, positions] : golden_.at("indexer_selected").items())
    for (const auto& [position, wanted] : positions.items()) {
      const TracedRow& row = rows_[std::stoul(position)];
      std::vector<int> entries;
      if (const auto found = row.keys.find(std::stoi(layer)); found != row.keys.end())
        entries = found->second;
      else
        for (int entry = 0; entry < (std::stoi(position) + 1) / 4; ++entry) entries.push_back(entry);
      EXPECT_EQ(entries, wanted.get<std::vector<int>>()) << "layer " << layer << " position " << position;
    }
}

TEST_P(DeepSeekV4VectorRun, MtpBlock) {
  const std::size_t pairs = tokens_.size() - 1;
  const std::vector<TracedRow> rows = run_->extend({rows_.data(), pairs}, std::span(tokens_).subspan(1), GetParam());
  expect_logits(rows, golden_.at("mtp_logits"));
  EXPECT_TRUE(rows.back().routes.contains(kV4DraftLayer));
}

// The same weights under the names that transformers gives them have the same bits.
TEST(DeepSeekV4VectorRunByOtherNames, LogitsAreTheSame) {
  const TempDir dir;
  write_v4_vector(dir / "model");
  write_v4_by_other_names(dir / "model", dir / "other");
  const std::vector<int> tokens = v4_vector().at("tokens").get<std::vector<int>>();
  const auto rows = [&](const char* name) {
    EngineOptions options;
    options.memory_bytes = resident_budget((dir / name).string(), options);
    return TracedRun((dir / name).string(), options).feed(tokens);
  };
  const std::vector<TracedRow> wanted = rows("model"), other = rows("other");
  ASSERT_EQ(other.size(), tokens.size());
  for (std::size_t position = 0; position < tokens.size(); ++position)
    EXPECT_EQ(other[position].logits, wanted[position].logits) << position;
}

INSTANTIATE_TEST_SUITE_P(Chunks, DeepSeekV4VectorRun, testing::Values(0, 1, 3, 7),
                         [](const auto& instance) { return "rows" + std::to_string(instance.param); });

}  // namespace
}  // namespace sluice::test
