// Tests of sampler.h.
#include "generate/sampler.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

namespace sluice {
namespace {

const std::vector<float> kLogits = {0.f, 1.f, 2.f, -1.f, 2.f};

std::array<int, 5> counts(const SamplingParams& params, int draws) {
  const Sampler sampler(params, 42);
  std::array<int, 5> count{};
  for (int position = 0; position < draws; ++position)
    ++count[static_cast<std::size_t>(sampler.choose(kLogits, position))];
  return count;
}

TEST(Sampler, GreedyTakesTheLargestAndTheLowerIdOfEqual) { EXPECT_EQ(Sampler({}, 1).choose(kLogits, 0), 2); }

TEST(Sampler, DrawsFollowTheSoftmax) {
  constexpr int kDraws = 100000;
  const auto count = counts({.temperature = 0.7}, kDraws);
  double whole = 0, chi_square = 0;
  for (float logit : kLogits) whole += std::exp(logit / 0.7);
  for (std::size_t id = 0; id < 5; ++id) {
    const double wanted = kDraws * std::exp(kLogits[id] / 0.7) / whole;
    chi_square += (count[id] - wanted) * (count[id] - wanted) / wanted;
  }
  EXPECT_LT(chi_square, 18.5);  // 4 degrees of freedom, one in a thousand
}

TEST(Sampler, FiltersDropWhatTheySay) {
  EXPECT_EQ(counts({.temperature = 1, .top_k = 1}, 100)[2], 100);  // tie at the cut: lower id stays
  const auto two = counts({.temperature = 1, .top_k = 2}, 1000);
  EXPECT_EQ(two[2] + two[4], 1000);
  EXPECT_GT(two[4], 400);
  const auto nucleus = counts({.temperature = 1, .top_p = 0.5}, 1000);  // 2 and 4 hold 0.41 each
  EXPECT_EQ(nucleus[2] + nucleus[4], 1000);
  const auto minimum = counts({.temperature = 1, .min_p = 0.3}, 1000);  // token 1 has e^-1 = 0.37 of the largest
  EXPECT_EQ(minimum[0] + minimum[3], 0);
  EXPECT_GT(minimum[1], 0);
}

TEST(Sampler, SameSeedAndPositionSameToken) {
  const SamplingParams params{.temperature = 1};
  const Sampler a(params, 9), b(params, 9), other(params, 10);
  int differs = 0;
  for (int position = 0; position < 200; ++position) {
    EXPECT_EQ(a.choose(kLogits, position), b.choose(kLogits, position));
    differs += a.choose(kLogits, position) != other.choose(kLogits, position);
  }
  EXPECT_GT(differs, 50);
}

TEST(Sampler, PenaltiesPushSeenTokensDown) {
  Sampler repeat({.repeat_penalty = 3}, 1);
  repeat.saw_prompt(2);
  EXPECT_EQ(repeat.choose(kLogits, 0), 4);
  Sampler presence({.presence_penalty = 1.5}, 1);
  presence.saw_prompt(2);
  EXPECT_EQ(presence.choose(kLogits, 0), 2);  // the prompt does not count
  presence.saw(2);
  EXPECT_EQ(presence.choose(kLogits, 0), 4);
  Sampler frequency({.frequency_penalty = 0.6}, 1);
  for (int id : {2, 4, 2, 4}) frequency.saw(id);
  EXPECT_EQ(frequency.choose(kLogits, 0), 1);
}

TEST(Sampler, RangesAreChecked) {
  EXPECT_TRUE(SamplingParams{}.validate());
  for (const SamplingParams& wrong :
       {SamplingParams{.temperature = -1}, SamplingParams{.temperature = std::nan("")}, SamplingParams{.top_k = -1},
        SamplingParams{.top_p = 0}, SamplingParams{.min_p = 1.5}, SamplingParams{.repeat_penalty = 0}})
    EXPECT_FALSE(wrong.validate());
}

}  // namespace
}  // namespace sluice
