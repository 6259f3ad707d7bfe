// Every step once, the outsized ones first, and any number of the others spread evenly over the walk.
#include "residency/pin_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "support/plan_needs.h"

namespace sluice {
namespace {

std::uint64_t total(std::span<const std::uint64_t> bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}

TEST(PinOrder, HasEveryStepOnceAndTheOutsizedOnesFirst) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<std::uint64_t> bytes = test::random_needs(seed).step_bytes;
    const PinOrder order = pin_order(bytes);
    std::vector<int> sorted = order.steps;
    std::ranges::sort(sorted);
    std::vector<int> all(bytes.size());
    std::iota(all.begin(), all.end(), 0);
    ASSERT_EQ(sorted, all);
    std::uint64_t outsized = 0;
    bool usual_met = false;
    for (const int step : order.steps) {
      const std::uint64_t size = bytes[static_cast<std::size_t>(step)];
      if (size <= order.usual_step) usual_met = true;
      ASSERT_EQ(size > order.usual_step, !usual_met) << "step " << step;
      if (!usual_met) outsized += size;
    }
    EXPECT_LE(outsized, total(bytes) / 10);
  }
}

// How far the share of pinned bytes in the walk so far runs ahead of, or behind, its share in all of it.
double unevenness(std::span<const std::uint64_t> bytes, std::vector<int> pinned) {
  std::ranges::sort(pinned);
  std::uint64_t pinned_total = 0;
  for (const int step : pinned) pinned_total += bytes[static_cast<std::size_t>(step)];
  const double share = static_cast<double>(pinned_total) / static_cast<double>(total(bytes));
  double so_far = 0, pinned_so_far = 0, worst = 0;
  for (std::size_t step = 0; step < bytes.size(); ++step) {
    so_far += static_cast<double>(bytes[step]);
    if (std::ranges::binary_search(pinned, static_cast<int>(step))) pinned_so_far += static_cast<double>(bytes[step]);
    worst = std::max(worst, std::abs(pinned_so_far - share * so_far));
  }
  return worst / static_cast<double>(total(bytes));
}

TEST(PinOrder, SpreadsAnyNumberOverTheWalk) {
  const std::vector<std::uint64_t> bytes = test::k3_like_needs().step_bytes;
  const PinOrder order = pin_order(bytes);
  for (std::size_t count = 8; count < bytes.size(); ++count) {
    const std::vector<int> pinned(order.steps.begin(), order.steps.begin() + static_cast<std::ptrdiff_t>(count));
    EXPECT_LT(unevenness(bytes, pinned), 0.06) << count;
  }
  std::vector<int> first(bytes.size() / 2);  // what a pinned prefix would be
  std::iota(first.begin(), first.end(), 0);
  EXPECT_GT(unevenness(bytes, first), 0.2);
}

}  // namespace
}  // namespace sluice
