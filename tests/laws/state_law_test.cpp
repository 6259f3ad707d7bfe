// States of every family: gone back and continued equals never gone ahead, a fork and a file continue as the original
// would, bit for bit, whatever was rejected on the way.
#include <gtest/gtest.h>

#include <bit>
#include <filesystem>

#include "state/state_file.h"
#include "support/bits.h"
#include "support/engine/law_options.h"
#include "support/engine/recorded_run.h"
#include "support/golden_arrays.h"
#include "support/golden_models.h"
#include "support/must.h"
#include "support/temp_dir.h"

namespace sluice::test {
namespace {

class States : public testing::TestWithParam<const char*> {
 protected:
  States() : directory_((std::filesystem::path(SLUICE_SOURCE_DIR) / "tests/golden" / GetParam()).string()) {
    tokens_ = GoldenArrays(directory_).facts().at("prompt_ids").get<std::vector<int>>();
    EngineOptions options = law_options();
    options.threads = 2;
    options.memory_bytes = resident_budget(directory_);
    Survey found = must(survey(must(know_model(directory_)), options));
    const MemoryPlan plan = must(plan_memory(found));
    engine_ = must(Engine::open(std::move(found), plan));
    straight_ = engine_->new_state();
    wanted_ = feed(*straight_, tokens_.size());
  }

  std::span<const int> from(const SequenceState& state, std::size_t end) const {
    const auto length = static_cast<std::size_t>(state.length());
    return std::span(tokens_).subspan(length, end - length);
  }
  // Feeds tokens up to `end`; the logits of the last one and the whole state.
  Bits feed(SequenceState& state, std::size_t end) {
    must(engine_->step(state, from(state, end), true));
    Bits bits;
    append_bits(bits, engine_->last_logits());
    for (int part = 0; part < state.logs(); ++part) {
      append_bits(bits, state.recurrent(part));
      if (state.log(part).width() > 0)
        for (int row = state.log(part).first_needed(state.length()); row < state.log(part).rows(state.length()); ++row)
          append_bits(bits, state.log(part).row(row));
    }
    return bits;
  }
  // Rows that are not certain: drafts of other tokens, of which the first `keep` happen to be right.
  int try_rows(SequenceState& state, int rows, int keep) {
    std::vector<int> drafts(from(state, tokens_.size()).begin(), from(state, tokens_.size()).begin() + keep);
    for (int row = keep; row < rows; ++row) drafts.push_back((7 * row + 3) % 100);
    const Segment segment{&state, 0, rows};
    state.open(rows, false);
    must(engine_->model().forward({.tokens = drafts, .segments = {&segment, 1}, .logit_rows = {}, .logits = {}}));
    return state.commit(keep);
  }

  std::string directory_;
  std::vector<int> tokens_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<SequenceState> straight_;
  Bits wanted_;
};

TEST_P(States, GoneBackAndContinuedEqualsNeverGoneAhead) {
  const std::size_t half = tokens_.size() / 2;
  for (const int back : {0, 1, static_cast<int>(half) - 1, static_cast<int>(half)}) {
    SCOPED_TRACE(back);
    const auto state = engine_->new_state();
    feed(*state, half / 2);
    state->mark(2);
    feed(*state, half);
    const std::vector<int> astray = {5, 4, 3, 2, 1};
    must(engine_->step(*state, astray, false));
    EXPECT_LE(state->rollback(back), back);
    EXPECT_EQ(feed(*state, tokens_.size()), wanted_);
  }
}

TEST_P(States, RejectedRowsLeaveNoTrace) {
  const auto state = engine_->new_state();
  feed(*state, 2);
  for (const auto& [rows, keep] : {std::pair{1, 0}, {4, 0}, {4, 2}, {3, 3}, {2, 1}}) {
    const int before = state->length(), kept = try_rows(*state, rows, keep);
    EXPECT_TRUE(kept == keep || kept == 0);
    EXPECT_EQ(state->length(), before + kept);
  }
  EXPECT_EQ(feed(*state, tokens_.size()), wanted_);
}

TEST_P(States, ForksGoTheirOwnWay) {
  const auto state = engine_->new_state();
  feed(*state, tokens_.size() / 2);
  const auto fork = state->fork();
  const std::vector<int> astray = {5, 4, 3, 2, 1};
  must(engine_->step(*fork, astray, false));
  const auto late = fork->fork();
  EXPECT_EQ(feed(*state, tokens_.size()), wanted_);
  late->rollback(static_cast<int>(tokens_.size() / 2));
  EXPECT_EQ(feed(*late, tokens_.size()), wanted_);
}

TEST_P(States, SavedAndLoadedGoOn) {
  const TempDir scratch;
  const std::string path = (scratch / "state").string();
  const auto state = engine_->new_state();
  feed(*state, tokens_.size() - 3);
  SequenceState* const only[] = {state.get()};
  must(save_conversation(path, "model", {tokens_, 0}, only));
  const SavedConversation loaded = must(load_conversation(path, "model", {&state->shape(), 1}));
  EXPECT_EQ(loaded.tokens.ids, tokens_);
  EXPECT_EQ(feed(*loaded.states.at(0), tokens_.size()), wanted_);
}

INSTANTIATE_TEST_SUITE_P(Models, States, testing::ValuesIn(kGoldenModels), golden_model_name);

}  // namespace
}  // namespace sluice::test
