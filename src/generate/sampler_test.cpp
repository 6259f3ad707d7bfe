// Tests of sampler.h.
#include "generate/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "base/counter_random.h"
#include "base/exact_math.h"
#include "support/sampling_room.h"

namespace sluice {
namespace {

using test::sampling_room;

const std::vector<float> kLogits = {0.f, 1.f, 2.f, -1.f, 2.f};

std::array<int, 5> counts(const SamplingParams& params, int draws) {
  const Sampler sampler(params, 42);
  std::array<int, 5> count{};
  for (int position = 0; position < draws; ++position)
    ++count[static_cast<std::size_t>(sampler.choose(sampling_room(), kLogits, position))];
  return count;
}

TEST(Sampler, GreedyTakesTheLargestAndTheLowerIdOfEqual) {
  EXPECT_EQ(Sampler({}, 1).choose(sampling_room(), kLogits, 0), 2);
}

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
    EXPECT_EQ(a.choose(sampling_room(), kLogits, position), b.choose(sampling_room(), kLogits, position));
    differs += a.choose(sampling_room(), kLogits, position) != other.choose(sampling_room(), kLogits, position);
  }
  EXPECT_GT(differs, 50);
}

TEST(Sampler, BiasesAreAddedToTheLogits) {
  EXPECT_EQ(Sampler({.logit_bias = {{3, 4.0}}}, 1).choose(sampling_room(), kLogits, 0), 3);
  EXPECT_EQ(Sampler({.logit_bias = {{2, -100.0}}}, 1).choose(sampling_room(), kLogits, 0), 4);
  EXPECT_EQ(Sampler({.logit_bias = {{99, 100.0}}}, 1).choose(sampling_room(), kLogits, 0), 2);  // no such token
  EXPECT_FALSE((SamplingParams{.logit_bias = {{1, 101.0}}}).validate());
}

TEST(Sampler, PenaltiesPushSeenTokensDown) {
  Sampler repeat({.repeat_penalty = 3}, 1);
  repeat.saw_prompt(2);
  EXPECT_EQ(repeat.choose(sampling_room(), kLogits, 0), 4);
  Sampler presence({.presence_penalty = 1.5}, 1);
  presence.saw_prompt(2);
  EXPECT_EQ(presence.choose(sampling_room(), kLogits, 0), 2);  // the prompt does not count
  presence.saw(2);
  EXPECT_EQ(presence.choose(sampling_room(), kLogits, 0), 4);
  Sampler frequency({.frequency_penalty = 0.6}, 1);
  for (int id : {2, 4, 2, 4}) frequency.saw(id);
  EXPECT_EQ(frequency.choose(sampling_room(), kLogits, 0), 1);
}

// The header's order of steps, written with full sorts.
int choose_slowly(const std::vector<float>& logits, const SamplingParams& params, std::uint64_t seed, int position) {
  struct Token {
    int id;
    double weight;
  };
  const float largest = *std::max_element(logits.begin(), logits.end());
  std::vector<Token> tokens;
  for (std::size_t id = 0; id < logits.size(); ++id)
    tokens.push_back({static_cast<int>(id), exact_exp((static_cast<double>(logits[id]) - static_cast<double>(largest)) /
                                                      params.temperature)});
  const auto whole = [&] {
    double sum = 0;
    for (const Token& token : tokens) sum += token.weight;
    return sum;
  };
  const auto keep_first = [&](std::size_t count) {
    tokens.resize(std::min(count, tokens.size()));
    std::ranges::sort(tokens, {}, &Token::id);
  };
  const auto by_logit = [&](const Token& a, const Token& b) {
    const float left = logits[static_cast<std::size_t>(a.id)], right = logits[static_cast<std::size_t>(b.id)];
    return left != right ? left > right : a.id < b.id;
  };
  if (params.top_k > 0) {
    std::ranges::sort(tokens, by_logit);
    keep_first(static_cast<std::size_t>(params.top_k));
  }
  if (params.top_p < 1) {
    const double wanted = params.top_p * whole();
    std::ranges::sort(tokens, by_logit);
    std::size_t count = 0;
    for (double sum = 0; count == 0 || (count < tokens.size() && sum < wanted);) sum += tokens[count++].weight;
    keep_first(count);
  }
  std::erase_if(tokens, [&](const Token& token) { return token.weight < params.min_p; });
  const double target = counter_uniform(seed, static_cast<std::uint64_t>(position)) * whole();
  double sum = 0;
  for (const Token& token : tokens)
    if (target < (sum += token.weight)) return token.id;
  return -1;
}

TEST(Sampler, EqualsTheStepsWithFullSorts) {
  std::mt19937 random(53);
  for (int round = 0; round < 3000; ++round) {
    std::vector<float> logits(1 + random() % 60);
    for (float& logit : logits) logit = static_cast<float>(random() % 12) * 0.5f;  // many ties
    for (auto banned = random() % 5; banned > 0; --banned)
      logits[random() % logits.size()] = -std::numeric_limits<float>::infinity();
    logits[random() % logits.size()] = 3;
    const double shares[] = {1, 0.999, 0.9, 0.5, 0.1, 1e-9};
    const SamplingParams params = {.temperature = shares[random() % 5] * 2,
                                   .top_k = random() % 2 == 0 ? 0 : static_cast<int>(random() % 20),
                                   .top_p = shares[random() % 6],
                                   .min_p = random() % 2 == 0 ? 0 : shares[random() % 5]};
    if (round % 2 == 0)  // enough for the search of top-p to go further than its first try
      for (std::size_t more = logits.size(), all = more + random() % 900; more < all; ++more)
        logits.push_back(static_cast<float>(random() % 12) * 0.5f);
    ASSERT_EQ(Sampler(params, 5).choose(sampling_room(), logits, round), choose_slowly(logits, params, 5, round));
  }
}

TEST(Sampler, TheOnlyPossibleTokenIsChosen) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  const std::vector<float> logits = {kNever, kNever, -80.f, kNever};
  for (const SamplingParams& params :
       {SamplingParams{}, SamplingParams{.temperature = 100}, SamplingParams{.temperature = 0.01, .top_k = 3},
        SamplingParams{.temperature = 1, .top_p = 1e-12, .min_p = 1}, SamplingParams{.repeat_penalty = 50},
        SamplingParams{.temperature = 1, .repeat_penalty = 0.5, .presence_penalty = 100, .frequency_penalty = -100}}) {
    Sampler sampler(params, 3);
    for (int id = 0; id < 4; ++id) sampler.saw(id);
    for (int position = 0; position < 200; ++position) EXPECT_EQ(sampler.choose(sampling_room(), logits, position), 2);
  }
  EXPECT_EQ(Sampler({.temperature = 1}, 1).choose(sampling_room(), std::vector<float>{5.f}, 0), 0);
  EXPECT_EQ(Sampler({.temperature = 1, .top_k = 9}, 1).choose(sampling_room(), std::vector<float>{kNever, 0.f}, 0), 1);
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
