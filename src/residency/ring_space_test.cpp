// Runs never overlap, and read-ahead never stalls where the header promises that it does not.
#include "residency/ring_space.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace sluice {
namespace {

struct Run {
  std::uint64_t begin, end;
};

// Takes runs ahead as far as they fit, gives the oldest back, as the trunk store does. Returns how often the next run
// did not fit beside the one in use alone.
int walk(std::uint64_t ring, std::uint64_t largest, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  RingSpace space(ring, largest);
  std::deque<Run> runs;
  std::uint64_t next = largest;
  int stalls = 0;
  for (int step = 0; step < 400; ++step) {
    while (true) {
      const auto offset = space.take(next);
      if (!offset) break;
      EXPECT_LE(*offset + next, ring);
      for (const Run& run : runs) EXPECT_TRUE(*offset >= run.end || *offset + next <= run.begin);
      runs.push_back({*offset, *offset + next});
      next = 1 + random() % largest;
      if (random() % 4 == 0) next = largest;
    }
    EXPECT_FALSE(runs.empty());  // progress
    if (runs.empty()) return 1000;
    if (runs.size() == 1) ++stalls;
    space.give_back(runs.front().begin);
    runs.pop_front();
  }
  return stalls;
}

TEST(RingSpace, RunsNeverOverlapAndTheNextOneFits) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    for (std::uint64_t ring : {200u, 230u, 299u, 300u, 301u, 550u, 1000u}) EXPECT_EQ(walk(ring, 100, seed), 0) << ring;
    for (std::uint64_t ring : {100u, 101u, 150u, 199u}) EXPECT_LT(walk(ring, 100, seed), 1000) << ring;
  }
}

TEST(RingSpace, ARingOfExactlyOneRunHoldsIt) {
  RingSpace space(100, 100);
  for (std::uint64_t bytes : {100u, 1u, 100u, 57u}) {
    const auto offset = space.take(bytes);
    ASSERT_TRUE(offset.has_value());
    space.give_back(*offset);
  }
}

}  // namespace
}  // namespace sluice
