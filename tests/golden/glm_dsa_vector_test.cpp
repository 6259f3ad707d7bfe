// The engine against GLM-5.2's golden vector (specification, section 10.1): logits, residual norms, experts, chosen
// keys and their scores, one layer step by step, greedy text, the draft head and drafts. The vector is float64 and
// nothing in it sits near a tie, so ids and key sets are equal and numbers agree to what float32 can do.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "support/damage.h"
#include "support/distances.h"
#include "support/engine/recorded_run.h"
#include "support/engine/traced_run.h"
#include "support/glm_vector.h"
#include "support/golden_vector.h"
#include "support/temp_dir.h"

namespace sluice::test {
namespace {

using nlohmann::json;

constexpr double kGlmLogits = 1e-4, kGlmScores = 1e-5, kGlmWeights = 1e-5, kGlmRelativeNorm = 1e-5;
constexpr int kGlmDraftLayer = 7;

TEST(GlmVector, GeneratorMakesTheWeightsOfTheSpecification) { expect_tensors_of(glm_vector(), glm_tensors()); }

void expect_near(std::span<const float> ours, const json& theirs, double tolerance) {
  ASSERT_GE(ours.size(), theirs.size());
  for (std::size_t place = 0; place < theirs.size(); ++place)
    ASSERT_NEAR(ours[place], theirs[place].get<double>(), tolerance) << "number " << place;
}

void expect_experts(const std::vector<Route>& ours, const json& ids) {
  std::vector<int> chosen;
  for (const Route& route : ours) chosen.push_back(route.expert);
  EXPECT_EQ(chosen, ids.get<std::vector<int>>());
}

// A layer that left nothing out does not tell its keys: they are all.
void expect_keys(const TracedRow& row, int layer, const json& wanted, int position) {
  std::vector<int> keys;
  if (const auto found = row.keys.find(layer); found != row.keys.end())
    keys = found->second;
  else
    for (int key = 0; key <= position; ++key) keys.push_back(key);
  EXPECT_EQ(keys, wanted.get<std::vector<int>>());
}

// By rows of a chunk; 0: all at once.
class GlmVectorRun : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    write_glm_vector(dir_ / "model");
    options_.draft_head = true;
    options_.memory_bytes = resident_budget((dir_ / "model").string(), options_);
    run_ = std::make_unique<TracedRun>((dir_ / "model").string(), options_);
    rows_ = run_->feed(tokens_, GetParam());
  }
  // The token after each position; after the last one the trunk's own.
  std::vector<int> followers() const {
    std::vector<int> next(tokens_.begin() + 1, tokens_.end());
    next.push_back(golden_.at("draft").at("first_token").get<int>());
    return next;
  }

  TempDir dir_;
  EngineOptions options_;
  const json& golden_ = glm_vector();
  const std::vector<int> tokens_ = golden_.at("tokens").get<std::vector<int>>();
  std::unique_ptr<TracedRun> run_;
  std::vector<TracedRow> rows_;
};

TEST_P(GlmVectorRun, LogitsAndResiduals) {
  double worst = 0;
  for (std::size_t position = 0; position < rows_.size(); ++position) {
    SCOPED_TRACE("position " + std::to_string(position));
    expect_near(rows_[position].logits, golden_.at("logits")[position], kGlmLogits);
    for (std::size_t id = 0; id < rows_[position].logits.size(); ++id)
      worst = std::max(worst, std::fabs(static_cast<double>(rows_[position].logits[id]) -
                                        golden_.at("logits")[position][id].get<double>()));
    EXPECT_EQ(argmax(rows_[position].logits), golden_.at("argmax")[position].get<int>());
    for (const auto& [layer, residual] : rows_[position].residual) {
      const double wanted = golden_.at("residual_norms")[position][static_cast<std::size_t>(layer)].get<double>();
      EXPECT_NEAR(l2(residual), wanted, kGlmRelativeNorm * wanted) << "layer " << layer;
    }
    EXPECT_EQ(rows_[position].residual.size(), 7u);
  }
  expect_near(rows_.back().hidden, golden_.at("final_norm_last"), kGlmLogits);
  std::printf("worst difference of logits: %.2e\n", worst);
}

TEST_P(GlmVectorRun, ExpertsAndWeights) {
  for (const auto& [layer, experts] : golden_.at("experts").items())
    for (std::size_t position = 0; position < rows_.size(); ++position)
      expect_experts(rows_[position].routes.at(std::stoi(layer)), experts[position]);
  for (const auto& [layer, weights] : golden_.at("expert_weights_last").items())
    for (std::size_t place = 0; place < weights.size(); ++place)
      EXPECT_NEAR(rows_.back().routes.at(std::stoi(layer))[place].weight, weights[place].get<double>(), kGlmWeights);
}

TEST_P(GlmVectorRun, KeysAndTheirScores) {
  for (const auto& [layer, keys] : golden_.at("indexer").items())
    for (std::size_t position = 0; position < rows_.size(); ++position)
      expect_keys(rows_[position], std::stoi(layer), keys[position], static_cast<int>(position));
  for (const auto& [layer, scores] : golden_.at("index_scores_last").items()) {
    ASSERT_EQ(rows_.back().scores.at(std::stoi(layer)).size(), scores.size());
    expect_near(rows_.back().scores.at(std::stoi(layer)), scores, kGlmScores);
  }
  EXPECT_EQ(rows_.back().keys.size(), 4u);  // shared layers choose nothing
}

// What can be seen of one layer from outside: what goes in, what it remembers, whom it asks, what comes out.
TEST_P(GlmVectorRun, OneLayerStepByStep) {
  const json& probe = golden_.at("probe");
  const int layer = probe.at("layer").get<int>(), position = probe.at("position").get<int>();
  const TracedRow& row = rows_[static_cast<std::size_t>(position)];
  expect_near(row.residual.at(layer - 1), probe.at("h_in"), kGlmLogits);
  const std::span<float> remembered = run_->state().log(layer).row(position);
  expect_near(remembered.first(16), probe.at("kv_latent"), kGlmLogits);
  expect_near(remembered.subspan(16), probe.at("k_rope_in_place"), kGlmLogits);
  expect_keys(row, 2, probe.at("set"), position);
  expect_experts(row.routes.at(layer), probe.at("experts"));
  for (std::size_t place = 0; place < 3; ++place)
    EXPECT_NEAR(row.routes.at(layer)[place].weight, probe.at("weights")[place].get<double>(), kGlmWeights);
  for (std::size_t i = 0; i < row.residual.at(layer).size(); ++i)
    EXPECT_NEAR(row.residual.at(layer)[i],
                probe.at("h_in")[i].get<double>() + probe.at("attn_out")[i].get<double>() +
                    probe.at("ffn_out")[i].get<double>(),
                kGlmLogits);
}

TEST_P(GlmVectorRun, GreedyText) {
  const json& greedy = golden_.at("greedy");
  int next = argmax(rows_.back().logits);
  for (std::size_t step = 0; step < greedy.at("tokens").size(); ++step) {
    ASSERT_EQ(next, greedy.at("tokens")[step].get<int>()) << "step " << step;
    const TracedRow row = run_->feed({&next, 1}).front();
    expect_near(row.logits, greedy.at("logits_first6")[step], kGlmLogits);
    next = argmax(row.logits);
  }
}

TEST_P(GlmVectorRun, DraftHeadOverTheTrueHistory) {
  const json& mtp = golden_.at("mtp");
  const std::size_t pairs = rows_.size() - 1;
  const std::vector<TracedRow> rows = run_->extend({rows_.data(), pairs}, std::span(tokens_).subspan(1), GetParam());
  for (std::size_t position = 0; position < pairs; ++position) {
    SCOPED_TRACE("position " + std::to_string(position));
    expect_near(rows[position].logits, mtp.at("logits")[position], kGlmLogits);
    EXPECT_EQ(argmax(rows[position].logits), mtp.at("argmax")[position].get<int>());
    expect_keys(rows[position], kGlmDraftLayer, mtp.at("indexer")[position], static_cast<int>(position));
    expect_experts(rows[position].routes.at(kGlmDraftLayer), mtp.at("experts")[position]);
    const double wanted = mtp.at("residual_norms")[position].get<double>();
    EXPECT_NEAR(l2(rows[position].residual.at(kGlmDraftLayer)), wanted, kGlmRelativeNorm * wanted);
  }
  expect_near(run_->cursor().hidden, mtp.at("hidden_last"), kGlmLogits);
}

TEST_P(GlmVectorRun, Drafts) {
  const json& draft = golden_.at("draft");
  const TracedRow first = run_->extend(rows_, followers(), GetParam()).back();
  expect_experts(first.routes.at(kGlmDraftLayer), draft.at("experts")[0]);
  std::vector<float> logits = first.logits;
  EXPECT_EQ(run_->cursor().position, draft.at("position").get<int>());
  EXPECT_EQ(run_->cursor().keys, draft.at("set").get<std::vector<int>>());
  for (std::size_t step = 0; step < draft.at("tokens").size(); ++step) {
    expect_near(logits, draft.at("logits_first6")[step], kGlmLogits);
    const int token = argmax(logits);
    ASSERT_EQ(token, draft.at("tokens")[step].get<int>()) << "step " << step;
    logits = run_->ahead(token);
  }
}

// While nothing has to be left out, a choice of everything gives the bits of dense attention: in one chunk whose last
// row must choose, all rows before it have such choices.
TEST_P(GlmVectorRun, UpToTheLimitAChoiceHasTheBitsOfDenseAttention) {
  const int last = static_cast<int>(tokens_.size()) - 1;
  std::vector<TracedRow> by_limit[2];
  for (const int limit : {1000, last}) {
    const std::filesystem::path model = dir_ / std::to_string(limit);
    write_glm_vector(model);
    edit_config(model, [&](json& config) { config["index_topk"] = limit; });
    by_limit[limit == last] = TracedRun(model.string(), options_).feed(tokens_, GetParam());
  }
  for (int row = 0; row < last; ++row)
    EXPECT_EQ(by_limit[0][static_cast<std::size_t>(row)].logits, by_limit[1][static_cast<std::size_t>(row)].logits);
  EXPECT_NE(by_limit[0].back().logits, by_limit[1].back().logits);
  EXPECT_NE(by_limit[0][static_cast<std::size_t>(last) - 1].logits, rows_[static_cast<std::size_t>(last) - 1].logits);
}

// Drafts that come to nothing, in the trunk and in the head, leave no trace: the same bits as if they had never been.
TEST_P(GlmVectorRun, RejectedDraftsLeaveNoTrace) {
  const std::vector<int> next = followers();
  const std::vector<TracedRow> plain = run_->extend(rows_, next, GetParam());
  TracedRun drafting((dir_ / "model").string(), options_);
  for (std::size_t position = 0; position < rows_.size(); ++position) {
    const int token = tokens_[position], wrong[] = {token, 1, 2, 3};
    const TracedRow row = drafting.try_rows(wrong, 1).front();  // three drafts, all rejected
    EXPECT_EQ(row.logits, rows_[position].logits) << "position " << position;
    const TracedRow drafted = drafting.extend({&row, 1}, {&next[position], 1}).front();
    EXPECT_EQ(drafted.logits, plain[position].logits) << "position " << position;
    drafting.ahead(5);
    drafting.ahead(6);
  }
}

// The head's walk goes back to lm_head, and its experts share the slots: with the least memory it drafts the same.
TEST_P(GlmVectorRun, DraftsWithTheLeastMemory) {
  EngineOptions least = options_;
  least.memory_bytes = minimum_budget((dir_ / "model").string(), least);
  TracedRun poor((dir_ / "model").string(), least);
  const std::vector<int> next = followers();
  const int chunk = std::min(GetParam() == 0 ? 24 : GetParam(), poor.engine().plan().prefill_chunk);
  const std::vector<TracedRow> rows = poor.feed(tokens_, chunk);
  const std::vector<TracedRow> rich = run_->extend(rows_, next, GetParam()), drafted = poor.extend(rows, next, chunk);
  for (std::size_t position = 0; position < rows.size(); ++position) {
    EXPECT_EQ(rows[position].logits, rows_[position].logits) << "position " << position;
    EXPECT_EQ(drafted[position].logits, rich[position].logits) << "position " << position;
  }
  for (const int token : {8, 23, 1}) EXPECT_EQ(poor.ahead(token), run_->ahead(token));
  EXPECT_EQ(poor.feed({&next.back(), 1}).front().logits, run_->feed({&next.back(), 1}).front().logits);
}

INSTANTIATE_TEST_SUITE_P(Chunks, GlmVectorRun, testing::Values(1, 5, 0), [](const auto& instance) {
  return instance.param == 0 ? std::string("whole") : "by" + std::to_string(instance.param);
});

}  // namespace
}  // namespace sluice::test
