// Tests of logprobs.h against the softmax written out.
#include "generate/logprobs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "support/sampling_room.h"

namespace sluice {
namespace {

using test::sampling_room;

TEST(TokenLogprobs, AreTheLogarithmOfTheSoftmax) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 4);
  for (int round = 0; round < 20; ++round) {
    std::vector<float> logits(300);
    for (float& logit : logits) logit = normal(random);
    long double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<long double>(logit));
    const TokenLogprobs found = token_logprobs(sampling_room(), logits, 17, 300);
    EXPECT_NEAR(found.chosen, static_cast<double>(logits[17] - std::log(sum)), 1e-12);
    ASSERT_EQ(found.top.size(), 300u);
    double all = 0;
    for (std::size_t place = 0; place < found.top.size(); ++place) {
      const TokenLogprob& token = found.top[place];
      EXPECT_NEAR(token.logprob, static_cast<double>(logits[static_cast<std::size_t>(token.id)] - std::log(sum)),
                  1e-12);
      EXPECT_LE(token.logprob, found.top[place == 0 ? 0 : place - 1].logprob);
      all += std::exp(token.logprob);
    }
    EXPECT_NEAR(all, 1, 1e-12);
  }
}

TEST(TokenLogprobs, TiesGoToTheLowerId) {
  const std::vector<float> logits = {1, 3, 3, 3, 2};
  const TokenLogprobs found = token_logprobs(sampling_room(), logits, 0, 3);
  ASSERT_EQ(found.top.size(), 3u);
  EXPECT_EQ(found.top[0].id, 1);
  EXPECT_EQ(found.top[1].id, 2);
  EXPECT_EQ(found.top[2].id, 3);
}

TEST(TokenLogprobs, FewerTokensThanAskedForAreAll) {
  const std::vector<float> logits = {0, 0};
  EXPECT_EQ(token_logprobs(sampling_room(), logits, 0, 9).top.size(), 2u);
  EXPECT_TRUE(token_logprobs(sampling_room(), logits, 0, 0).top.empty());
}

TEST(TokenLogprobs, HugeAndForbiddenLogitsAreNoProblem) {
  const float never = -std::numeric_limits<float>::infinity();
  const std::vector<float> logits = {3e38f, never, 0};
  const TokenLogprobs found = token_logprobs(sampling_room(), logits, 1, 3);
  EXPECT_EQ(found.chosen, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(found.top[0], (TokenLogprob{0, 0.0}));
}

}  // namespace
}  // namespace sluice
