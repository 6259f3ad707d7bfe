// Tests of router.h and routes.h.
#include "moe/router.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "compute/reference.h"

namespace sluice {
namespace {

Rows one_row(std::vector<float>& values) {
  return {values.data(), 1, static_cast<int>(values.size()), static_cast<int>(values.size())};
}

Routes choose_experts(const RouterScores& from) {
  ReferenceOps ops;
  return ExpertChooser().choose(ops, from);
}
ExpertRanking ranking_of(const RouterScores& from, int count) {
  ReferenceOps ops;
  return rank_experts(ops, from, count);
}

// Kimi K3 specification, section 3.7, micro test: the largest score is not chosen, and the bias is not in the weights.
TEST(Router, BiasChoosesButDoesNotWeigh) {
  std::vector<float> scores = {.549834f, .377541f, .731059f, .524979f};
  const std::vector<float> bias = {0.f, .3f, -.2f, .05f};
  const Routes routes = choose_experts({one_row(scores), bias, {.top_k = 2, .sum_epsilon = 1e-20f}});
  ASSERT_EQ(routes.of(0).size(), 2u);
  EXPECT_EQ(routes.of(0)[0].expert, 1);
  EXPECT_EQ(routes.of(0)[1].expert, 3);
  EXPECT_NEAR(routes.of(0)[0].weight, .41831841f, 1e-6f);
  EXPECT_NEAR(routes.of(0)[1].weight, .58168159f, 1e-6f);
}

TEST(Router, TiesGoToTheLowerIdAndRoutesAscend) {
  std::vector<float> scores = {.5f, .5f, .5f, .9f, .5f};
  const std::vector<float> bias(5, 0.f);
  const Routes routes = choose_experts({one_row(scores), bias, {.top_k = 3}});
  EXPECT_EQ(routes.of(0)[0].expert, 0);
  EXPECT_EQ(routes.of(0)[1].expert, 1);
  EXPECT_EQ(routes.of(0)[2].expert, 3);
}

TEST(Router, WithoutRenormalisationWeightsAreScoresTimesFactor) {
  std::vector<float> scores = {.25f, .5f, .125f};
  const std::vector<float> bias(3, 0.f);
  const Routes routes = choose_experts({one_row(scores), bias, {.top_k = 2, .renormalize = false, .factor = 2.f}});
  EXPECT_EQ(routes.of(0)[0].weight, .5f);
  EXPECT_EQ(routes.of(0)[1].weight, 1.f);
}

TEST(Router, WithoutABiasScoresChoose) {
  std::vector<float> scores = {.1f, .4f, .2f, .3f};
  const Routes routes = choose_experts({one_row(scores), {}, {.top_k = 2}});
  EXPECT_EQ(routes.of(0)[0].expert, 1);
  EXPECT_EQ(routes.of(0)[1].expert, 3);
  EXPECT_EQ(routes.of(0)[0].weight, .4f / (.4f + .3f));
}

// Four groups of three against the spec's own words, on scores and biases that leave some sums negative.
TEST(Router, GroupsAreKeptByTheSumOfTheirTwoBest) {
  std::mt19937 random(5);
  for (int repeat = 0; repeat < 500; ++repeat) {
    std::vector<float> scores(12), bias(12);
    for (float& score : scores) score = static_cast<float>(random() % 1000) / 1000;
    for (float& b : bias) b = static_cast<float>(random() % 1000) / 500 - 1;
    std::vector<std::pair<float, int>> groups, experts;
    const auto choice = [&](int expert) {
      return scores[static_cast<std::size_t>(expert)] + bias[static_cast<std::size_t>(expert)];
    };
    for (int group = 0; group < 4; ++group) {
      std::vector<float> sorted = {choice(3 * group), choice(3 * group + 1), choice(3 * group + 2)};
      std::ranges::sort(sorted, std::greater<>());
      groups.emplace_back(-(sorted[0] + sorted[1]), group);  // ascending: best first, ties to the lower id
    }
    std::ranges::sort(groups);
    for (int expert = 0; expert < 12; ++expert)
      if (expert / 3 == groups[0].second || expert / 3 == groups[1].second)
        experts.emplace_back(-choice(expert), expert);
    std::ranges::sort(experts);
    std::vector<int> wanted;
    for (int place = 0; place < 4; ++place) wanted.push_back(experts[static_cast<std::size_t>(place)].second);
    std::ranges::sort(wanted);
    const Routes routes = choose_experts({one_row(scores), bias, {.top_k = 4, .groups = 4, .groups_kept = 2}});
    for (int place = 0; place < 4; ++place)
      ASSERT_EQ(routes.of(0)[static_cast<std::size_t>(place)].expert, wanted[static_cast<std::size_t>(place)]);
  }
}

// Given whom it chose, in any order, it says the same.
TEST(Router, GivenExpertsWeighWhatChosenOnesDo) {
  std::mt19937 random(6);
  for (const bool renormalize : {true, false}) {
    std::vector<float> scores(4 * 9);
    for (float& score : scores) score = static_cast<float>(random() % 1000 + 1) / 700;
    const Rows rows{scores.data(), 4, 9, 9};
    const RouterRule rule{.top_k = 3, .renormalize = renormalize, .factor = 2.5f, .sum_epsilon = 1e-3f};
    const Routes chosen = choose_experts({rows, {}, rule});
    std::vector<int> experts;
    for (const Route& route : chosen.all) experts.push_back(route.expert);
    for (std::size_t row = 0; row < 4; ++row) std::swap(experts[3 * row], experts[3 * row + 2]);
    const Routes given = ExpertChooser().take(rows, experts, rule);
    ASSERT_EQ(given.all.size(), chosen.all.size());
    EXPECT_EQ(given.rows, 4);
    EXPECT_EQ(given.top_k, 3);
    for (std::size_t route = 0; route < given.all.size(); ++route) {
      EXPECT_EQ(given.all[route].expert, chosen.all[route].expert);
      EXPECT_EQ(given.all[route].weight, chosen.all[route].weight);
    }
  }
}

TEST(Routes, GroupsAreTheUnionInAscendingOrder) {
  Routes routes{3, 2, {{1, .1f}, {4, .2f}, {0, .3f}, {4, .4f}, {1, .5f}, {2, .6f}}};
  ExpertGroups lists;
  for (int repeat = 0; repeat < 2; ++repeat) {  // the lists are used again
    const std::span<const ExpertGroup> groups = lists.of(routes);
    ASSERT_EQ(groups.size(), 4u);
    EXPECT_EQ(groups[0].expert, 0);
    EXPECT_EQ(groups[1].expert, 1);
    EXPECT_TRUE(std::ranges::equal(groups[1].routes, std::vector<int>{0, 4}));
    EXPECT_EQ(groups[3].expert, 4);
    EXPECT_TRUE(std::ranges::equal(groups[3].routes, std::vector<int>{1, 3}));
  }
}

// The first of a ranking are those that are chosen, with a bias, with groups and without, ties among them.
TEST(Router, RanksFirstWhomItChooses) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const bool grouped = round % 2 == 1;
    std::vector<float> scores(12), bias(12);
    for (float& score : scores) score = static_cast<float>(random() % 8) / 8;
    for (float& one : bias) one = static_cast<float>(random() % 4) / 16;
    const RouterScores from{
        one_row(scores), bias, {.top_k = 3, .groups = grouped ? 4 : 1, .groups_kept = grouped ? 2 : 1}};
    const Routes chosen = choose_experts(from);
    const ExpertRanking ranked = ranking_of(from, 6);
    ASSERT_EQ(ranked.of(0).size(), 6u);
    std::vector<int> first(ranked.of(0).begin(), ranked.of(0).begin() + 3), wanted;
    for (const Route& route : chosen.of(0)) wanted.push_back(route.expert);
    std::ranges::sort(first);
    EXPECT_EQ(first, wanted);
    const auto choice = [&](int expert) {
      return scores[static_cast<std::size_t>(expert)] + bias[static_cast<std::size_t>(expert)];
    };
    for (std::size_t place = 1; place < 6; ++place)
      EXPECT_GE(choice(ranked.of(0)[place - 1]), choice(ranked.of(0)[place]));
    EXPECT_EQ(ranking_of(from, 100).count, grouped ? 6 : 12);  // all that may be chosen
  }
}

}  // namespace
}  // namespace sluice
