// The choice of keys against a plain sort.
#include "models/common/indexer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace sluice {
namespace {

std::vector<int> by_sorting(const std::vector<float>& scores, int count) {
  std::vector<int> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  const auto value = [&](int position) {
    const float score = scores[static_cast<std::size_t>(position)];
    return std::isnan(score) ? -INFINITY : score;
  };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return value(a) > value(b); });
  order.resize(static_cast<std::size_t>(count));
  std::sort(order.begin(), order.end());
  return order;
}

std::vector<int> chosen(const std::vector<float>& scores, int count) {
  std::vector<int> positions;
  std::vector<float> ranks;
  choose_largest(scores, count, ranks, positions);
  return positions;
}

TEST(Indexer, ChoosesAsASortDoes) {
  std::mt19937 random(1);
  for (int repeat = 0; repeat < 2000; ++repeat) {
    std::vector<float> scores(1 + random() % 60);
    for (float& score : scores) score = static_cast<float>(random() % 7) - 3;  // many ties
    const int count = 1 + static_cast<int>(random() % scores.size());
    ASSERT_EQ(chosen(scores, count), by_sorting(scores, count));
  }
}

TEST(Indexer, TiesGoToTheLowerPositionAndNanLoses) {
  EXPECT_EQ(chosen({0, -0.f, 0, 1}, 2), (std::vector<int>{0, 3}));
  EXPECT_EQ(chosen({-INFINITY, NAN, -5, NAN}, 2), (std::vector<int>{0, 2}));
  EXPECT_EQ(chosen({NAN, NAN, NAN}, 2), (std::vector<int>{0, 1}));
  EXPECT_EQ(chosen({NAN, INFINITY, NAN}, 3), (std::vector<int>{0, 1, 2}));
}

}  // namespace
}  // namespace sluice
