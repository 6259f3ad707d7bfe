// Tests of scheduler.h: a simulation of sequences that come, prefill, decode and go, without a model.
#include "engine/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace sluice {
namespace {

using testing::ElementsAre;

StepPlan plan_for(const std::vector<RunningSequence>& running, int waiting, const StepLimits& limits) {
  return next_step(running, waiting, limits);
}

TEST(Scheduler, AdmitsAsManyAsThereAreSlots) {
  EXPECT_EQ(plan_for({}, 5, {.slots = 3, .rows = 8, .logit_rows = 3}).admit, 3);
  EXPECT_EQ(plan_for({{1}, {1}}, 5, {.slots = 3, .rows = 8, .logit_rows = 3}).admit, 1);
  EXPECT_EQ(plan_for({{1}, {1}, {1}}, 5, {.slots = 3, .rows = 8, .logit_rows = 3}).admit, 0);
  EXPECT_EQ(plan_for({{1}}, 1, {.slots = 3, .rows = 8, .logit_rows = 3}).admit, 1);
}

TEST(Scheduler, ALonePrefillTakesTheWholeStep) {
  EXPECT_THAT(plan_for({{1000}}, 0, {.slots = 4, .rows = 64, .logit_rows = 4}).rows, ElementsAre(64));
  EXPECT_THAT(plan_for({{10}}, 0, {.slots = 4, .rows = 64, .logit_rows = 4}).rows, ElementsAre(10));
}

TEST(Scheduler, DecodeRowsComeFirstAndPrefillsGetAQuarter) {
  EXPECT_THAT(plan_for({{1000}, {1}, {1}}, 0, {.slots = 4, .rows = 64, .logit_rows = 4}).rows, ElementsAre(16, 1, 1));
  EXPECT_THAT(plan_for({{1000}, {1}, {1}}, 0, {.slots = 4, .rows = 4, .logit_rows = 4}).rows, ElementsAre(1, 1, 1));
}

TEST(Scheduler, PrefillsShareAndShortOnesLeaveWhatTheyDoNotNeed) {
  EXPECT_THAT(plan_for({{1000}, {5}, {1000}}, 0, {.slots = 4, .rows = 65, .logit_rows = 4}).rows,
              ElementsAre(30, 5, 30));
}

TEST(Scheduler, RowsOfLogitsAreAsFewAsThereIsRoomFor) {
  EXPECT_THAT(plan_for({{100, 0, true}}, 0, {.slots = 4, .rows = 64, .logit_rows = 4}).rows, ElementsAre(4));
  EXPECT_THAT(plan_for({{100, 0, true}, {1}, {1}}, 0, {.slots = 4, .rows = 64, .logit_rows = 4}).rows,
              ElementsAre(2, 1, 1));
}

TEST(Scheduler, DraftsGetTheRowsThatAreLeft) {
  EXPECT_THAT(plan_for({{1, 0, false, 5}}, 0, {.slots = 1, .rows = 64, .logit_rows = 9}).rows, ElementsAre(6));
  EXPECT_THAT(plan_for({{1, 0, false, 5}, {1, 0, false, 1}}, 0, {.slots = 2, .rows = 64, .logit_rows = 5}).rows,
              ElementsAre(3, 2));
  EXPECT_THAT(plan_for({{1, 0, false, 5}, {100}}, 0, {.slots = 2, .rows = 4, .logit_rows = 9}).rows, ElementsAre(3, 1));
  EXPECT_THAT(plan_for({{1, 0, false, 5}}, 0, {.slots = 1, .rows = 1, .logit_rows = 9}).rows, ElementsAre(1));
}

TEST(Scheduler, WhoWaitedLongestComesFirstWhereRowsAreFew) {
  EXPECT_THAT(plan_for({{1, 0}, {1, 2}, {50, 1}}, 0, {.slots = 4, .rows = 2, .logit_rows = 4}).rows,
              ElementsAre(0, 1, 1));
}

// Sequences with random prompts and answers come at random times. Every limit holds in every step, someone always
// moves, nobody waits for more steps than there are sequences, and a running answer is never slower than a quarter step
// allows.
TEST(Scheduler, NobodyStarves) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const auto upto = [&](int most) { return 1 + static_cast<int>(random() % static_cast<unsigned>(most)); };
    StepLimits limits{.slots = upto(6), .rows = upto(40)};
    limits.logit_rows = limits.slots;
    std::vector<RunningSequence> running;
    std::vector<int> answers;
    int waiting = 0, to_come = 30, finished = 0;
    for (int step = 0; finished < 30; ++step) {
      ASSERT_LT(step, 20000) << "seed " << seed;
      if (to_come > 0 && random() % 4 == 0) --to_come, ++waiting;
      const StepPlan plan = next_step(running, waiting, limits);
      ASSERT_EQ(plan.rows.size(), running.size());
      const int rows = std::accumulate(plan.rows.begin(), plan.rows.end(), 0);
      ASSERT_LE(rows, limits.rows) << "seed " << seed;
      ASSERT_TRUE(running.empty() || rows > 0) << "seed " << seed;
      int logit_rows = 0;
      for (std::size_t index = running.size(); index-- > 0;) {
        RunningSequence& sequence = running[index];
        const int given = plan.rows[index];
        ASSERT_TRUE(given >= 0 && given <= sequence.backlog) << "seed " << seed;
        logit_rows += sequence.all_logits ? given : given == sequence.backlog ? 1 : 0;
        sequence.steps_waited = given > 0 ? 0 : sequence.steps_waited + 1;
        ASSERT_LT(sequence.steps_waited, limits.slots) << "seed " << seed;
        const bool held_up = limits.rows >= limits.slots && sequence.backlog == 1 && given == 0;
        ASSERT_FALSE(held_up) << "seed " << seed;
        sequence.backlog -= given;
        if (sequence.backlog > 0) continue;
        sequence = {.backlog = 1};
        if (--answers[index] > 0) continue;
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(index));
        answers.erase(answers.begin() + static_cast<std::ptrdiff_t>(index));
        ++finished;
      }
      ASSERT_LE(logit_rows, limits.logit_rows) << "seed " << seed;
      for (int admitted = 0; admitted < plan.admit; ++admitted) {
        running.push_back({.backlog = upto(200), .steps_waited = 0, .all_logits = random() % 5 == 0});
        answers.push_back(upto(20));
      }
      waiting -= plan.admit;
      ASSERT_GE(waiting, 0);
      ASSERT_LE(static_cast<int>(running.size()), limits.slots) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace sluice
