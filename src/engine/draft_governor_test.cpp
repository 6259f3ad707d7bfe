// Tests of draft_governor.h: simulated texts on which a share of the drafts is right.
#include "engine/draft_governor.h"

#include <gtest/gtest.h>

#include <random>

namespace sluice {
namespace {

struct Outcome {
  int steps = 0, with_drafts = 0;
  double cost = 0;
  int tokens = 0;
};

// Three drafts at a time, each right with `chance`; a further row reads `extra` of what the first one reads.
Outcome simulate(double chance, double extra, int steps, DraftGovernor governor = {}, std::uint64_t copied = 0) {
  std::mt19937 random(7);
  std::bernoulli_distribution right(chance);
  Outcome outcome;
  for (int step = 0; step < steps; ++step) {
    const bool drafts = governor.allows();
    StepCost cost{.bytes_read = 1'000'000, .bytes_touched = 2'000'000, .bytes_a_row = 2'000'000, .rows = 1};
    int tokens = 1;
    if (drafts) {
      cost.rows = 4;
      cost.bytes_copied = copied;
      cost.bytes_read += static_cast<std::uint64_t>(3 * extra * 1'000'000);
      while (tokens < 4 && right(random)) ++tokens;
    }
    governor.step(cost, tokens, drafts);
    ++outcome.steps;
    outcome.with_drafts += drafts ? 1 : 0;
    outcome.cost += cost.value();
    outcome.tokens += tokens;
  }
  return outcome;
}

double cost_of_a_token(const Outcome& outcome) { return outcome.cost / outcome.tokens; }

TEST(DraftGovernor, DraftsNearlyAlwaysWhereItPays) {
  const Outcome outcome = simulate(0.8, 0.1, 1000);
  EXPECT_GT(outcome.with_drafts, 900);
  EXPECT_LT(cost_of_a_token(outcome), 0.6 * cost_of_a_token(simulate(0, 0, 2)));
}

TEST(DraftGovernor, StopsWhereNothingIsRight) {
  const Outcome outcome = simulate(0, 0.3, 2000);
  EXPECT_LT(outcome.with_drafts, 40);
  EXPECT_GT(outcome.with_drafts, 8);  // tried again
  EXPECT_LT(cost_of_a_token(outcome), 1.05 * cost_of_a_token(simulate(0, 0, 2)));
}

TEST(DraftGovernor, CountsWhatDraftsReadBeyond) {
  EXPECT_LT(simulate(0.5, 1.0, 1000).with_drafts, 60);    // twice the tokens for four times the bytes
  EXPECT_GT(simulate(0.5, 0.05, 1000).with_drafts, 900);  // for a tenth more
}

TEST(DraftGovernor, LooksAtPlainStepsFirst) {
  DraftGovernor governor;
  EXPECT_FALSE(governor.allows());
  governor.step({.bytes_read = 1}, 1, false);
  governor.step({.bytes_read = 1}, 1, false);
  EXPECT_TRUE(governor.allows());
}

// A recurrent state is copied before each draft: where it is as large as the weights that move, only texts that are
// foreseen well pay for it.
TEST(DraftGovernor, CopiesOfStatesCount) {
  constexpr std::uint64_t kLarge = 16'000'000;
  EXPECT_GT(simulate(0.6, 0, 400).with_drafts, 200);
  EXPECT_LT(simulate(0.6, 0, 400, {}, kLarge).with_drafts, 100);
  EXPECT_GT(simulate(1, 0, 400, {}, kLarge).with_drafts, 200);
}

}  // namespace
}  // namespace sluice
