// Who leaves frees the slot within a token, at any phase: counted in layers and steps, not in time. Those who stay, and
// those who come after, get the answers that they would have got.
#include <gtest/gtest.h>

#include "engine/kept_sequences.h"
#include "support/engine/law_options.h"
#include "support/engine/requests.h"
#include "support/golden_models.h"

namespace sluice::test {
namespace {

class Cancel : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Engine> open(int slots, bool roomy = true, std::uint64_t spare = 0) const {
    EngineOptions options = law_options();
    options.slots = slots;
    options.prefill_chunk = 32;
    options.session_bytes = spare;
    return open_golden(GetParam(), options, roomy);
  }
  static Request request(int prompt, int max_tokens, int first = 3) {
    Request made;
    for (int token = 0; token < prompt; ++token) made.prompt.push_back(first + token);
    made.max_tokens = max_tokens;
    return made;
  }
};

// Leaves in the layer `at` of some pass; counts the layers that run after.
struct Leaver {
  Leaver(Engine& engine, std::shared_ptr<Recorder> who, int at) {
    engine.observe({}, [this, who = std::move(who), at](int layer, Rows) {
      if (who->cancel_now) ++layers_after;
      if (layer == at) who->cancel_now = true;
    });
  }
  int layers_after = 0;
};

TEST_P(Cancel, APromptIsGivenUpBetweenLayers) {
  for (const bool roomy : {true, false}) {
    const std::unique_ptr<Engine> engine = open(1, roomy), plain = open(1);
    const int layers = engine->config().layers();
    ASSERT_GE(layers, 2);
    for (const int at : {0, layers - 2}) {
      const auto leaves = std::make_shared<Recorder>();
      Leaver leaver(*engine, leaves, at);
      Batcher batcher(*engine);
      batcher.add(request(100, 5), leaves);  // more than three chunks
      batcher.step();                        // gives the slot
      batcher.step();
      EXPECT_EQ(leaves->times_finished, 1);
      EXPECT_EQ(leaves->finish, Finish::cancelled);
      EXPECT_EQ(leaver.layers_after, 0) << "at layer " << at;
      EXPECT_TRUE(batcher.idle());
      engine->observe({}, {});
      const Request next = request(50, 8);
      plain->kept().clear();
      EXPECT_EQ(alone(*engine, next), alone(*plain, next));
    }
  }
}

// What was computed of the conversation before is not lost with the chunk that nobody waits for.
TEST_P(Cancel, WhatWasComputedBeforeStays) {
  const std::unique_ptr<Engine> engine = open(1, true, 16 << 20), plain = open(1);
  const Request first = request(20, 6);
  const Answer answer = alone(*engine, first);
  Request second = first;
  second.prompt.insert(second.prompt.end(), answer.ids.begin(), answer.ids.end());
  for (int token = 0; token < 40; ++token) second.prompt.push_back(60 + token);
  const auto leaves = std::make_shared<Recorder>();
  Leaver leaver(*engine, leaves, 0);
  Batcher batcher(*engine);
  batcher.add(second, leaves);
  while (!batcher.idle()) batcher.step();
  EXPECT_EQ(leaver.layers_after, 0);
  engine->observe({}, {});
  const auto again = run_alone(*engine, second);
  plain->kept().clear();
  EXPECT_EQ(again->answer, alone(*plain, second));
  EXPECT_GE(again->generation.cached, first.prompt.size()) << "at least to the mark at the end of the first prompt";
}

// Others are in the pass: it goes on for them, and the slot is free at its end.
TEST_P(Cancel, WhoStaysLosesNothing) {
  const std::unique_ptr<Engine> engine = open(2), plain = open(1);
  const Request other = request(60, 10, 90);
  const Answer wanted = alone(*plain, other);
  const auto leaves = std::make_shared<Recorder>(), stays = std::make_shared<Recorder>(),
             waits = std::make_shared<Recorder>();
  Leaver leaver(*engine, leaves, 1);
  Batcher batcher(*engine);
  batcher.add(request(100, 5), leaves);
  batcher.add(other, stays);
  batcher.add(other, waits);
  batcher.step();
  ASSERT_EQ(batcher.running(), 2u);
  batcher.step();  // the pass in which one leaves
  ASSERT_TRUE(leaves->cancel_now);
  batcher.step();  // within a token: the one who waited has the slot
  EXPECT_EQ(leaves->finish, Finish::cancelled);
  EXPECT_EQ(batcher.waiting(), 0u);
  EXPECT_EQ(batcher.running(), 2u);
  while (!batcher.idle()) batcher.step();
  EXPECT_EQ(stays->answer, wanted);
  EXPECT_EQ(waits->answer, wanted);
}

TEST_P(Cancel, AnAnswerStopsAfterTheTokenInHand) {
  const std::unique_ptr<Engine> engine = open(1);
  const auto leaves = std::make_shared<Recorder>();
  Batcher batcher(*engine);
  batcher.add(request(5, 100), leaves);
  for (int step = 0; step < 4; ++step) batcher.step();
  const std::uint64_t steps = batcher.steps();
  leaves->cancel_now = true;
  batcher.step();
  EXPECT_EQ(batcher.steps(), steps);
  EXPECT_EQ(leaves->finish, Finish::cancelled);
  EXPECT_TRUE(batcher.idle());
}

INSTANTIATE_TEST_SUITE_P(Models, Cancel, testing::ValuesIn(kGoldenModels), golden_model_name);

}  // namespace
}  // namespace sluice::test
