// The governor gives back what is lacking, no more slots than it must, and does not swing.
#include "residency/memory_governor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace sluice {
namespace {

constexpr std::uint64_t kMiB = 1 << 20, kTotal = 4096 * kMiB;  // reserve: 81 MiB
using std::chrono::seconds;

MemoryGovernor::Clock::time_point at(int second) { return MemoryGovernor::Clock::time_point(seconds(second)); }

TEST(MemoryGovernor, TheReserveIsAShareWithinBounds) {
  EXPECT_EQ(MemoryGovernor({}, kTotal).reserve_bytes(), kTotal / 50);
  EXPECT_EQ(MemoryGovernor({}, 100 * kMiB).reserve_bytes(), 16 * kMiB);
  EXPECT_EQ(MemoryGovernor({}, kTotal * 1000).reserve_bytes(), 1024 * kMiB);
}

TEST(MemoryGovernor, WithEnoughAvailableNothingChanges) {
  MemoryGovernor governor({.slot_bytes = kMiB, .fewest = 9, .most = 1000}, kTotal);
  for (int second = 0; second < 100; ++second)
    EXPECT_EQ(governor.slots(governor.reserve_bytes() + static_cast<std::uint64_t>(second) * kMiB, 0, 1000, at(second)),
              1000);
}

// A look costs what a small model's token does: it is made often only where it could matter.
TEST(MemoryGovernor, FarFromItsReserveItLooksSeldom) {
  MemoryGovernor governor({.slot_bytes = kMiB, .fewest = 9, .most = 1000}, kTotal);
  const std::uint64_t calm = 4 * governor.reserve_bytes(), second_of_others = std::uint64_t{8} << 30;
  EXPECT_EQ(governor.pause(0), MemoryGovernor::kLeastPause);
  EXPECT_EQ(governor.pause(calm), MemoryGovernor::kLeastPause);
  EXPECT_EQ(governor.pause(calm + second_of_others / 2), std::chrono::milliseconds(500));
  EXPECT_EQ(governor.pause(100 * second_of_others), MemoryGovernor::kMostPause);
  governor.slots(0, 0, 1000, at(1));  // what went comes back as soon as it may
  EXPECT_EQ(governor.pause(100 * second_of_others), MemoryGovernor::kLeastPause);
}

TEST(MemoryGovernor, ItGivesBackWhatIsLacking) {
  MemoryGovernor governor({.slot_bytes = kMiB, .fewest = 9, .most = 1000}, kTotal);
  const std::uint64_t reserve = governor.reserve_bytes();
  const int given = 1000 - governor.slots(reserve / 2, 0, 1000, at(1));
  EXPECT_GE(static_cast<std::uint64_t>(given) * kMiB, reserve + reserve / 2);  // to twice the reserve
  EXPECT_LE(static_cast<std::uint64_t>(given) * kMiB, reserve + reserve / 2 + 2 * kMiB);
  // Slots that nothing is in give nothing back: what is filled counts.
  MemoryGovernor half_full({.slot_bytes = kMiB, .fewest = 9, .most = 1000}, kTotal);
  EXPECT_EQ(half_full.slots(reserve / 2, 0, 500, at(1)), 500 - given);
}

TEST(MemoryGovernor, NeverBelowWhatALayerNeedsNorAboveThePlan) {
  std::mt19937_64 random(3);
  MemoryGovernor governor({.slot_bytes = 7 * kMiB, .fewest = 9, .most = 200}, kTotal);
  int last = 200, second = 0, last_loss = -1000;
  bool shrank = false, grew = false;
  for (int round = 0; round < 5000; ++round) {
    second += static_cast<int>(random() % 3);
    const std::uint64_t available = random() % 40 == 0 ? random() % (100 * kMiB) : random() % (900 * kMiB);
    const int slots = governor.slots(available, 0, last, at(second));
    EXPECT_GE(slots, 9);
    EXPECT_LE(slots, 200);
    if (available >= governor.reserve_bytes()) {
      EXPECT_GE(slots, last);
    } else {
      EXPECT_LE(slots, last);
      last_loss = second;
    }
    if (slots > last) {
      EXPECT_GE(second - last_loss, 10);
      EXPECT_GT(available, 3 * governor.reserve_bytes());
    }
    shrank |= slots < last;
    grew |= slots > last;
    last = slots;
  }
  EXPECT_TRUE(shrank && grew);
}

// A machine that has what the cache does not take, and a neighbour who comes and goes.
TEST(MemoryGovernor, ItSettlesBesideANeighbourAndComesBackAfterIt) {
  MemoryGovernor governor({.slot_bytes = kMiB, .fewest = 9, .most = 3000}, kTotal);
  int slots = 3000, changes = 0;
  const auto run = [&](std::uint64_t neighbour, int from, int to) {
    for (int second = from; second < to; ++second) {
      const std::uint64_t taken = static_cast<std::uint64_t>(slots) * kMiB + neighbour;
      const int next = governor.slots(kTotal > taken ? kTotal - taken : 0, 0, slots, at(second));
      changes += next != slots ? 1 : 0;
      slots = next;
    }
  };
  run(0, 0, 50);
  EXPECT_EQ(slots, 3000);
  run(2000 * kMiB, 50, 200);
  EXPECT_LT(slots, 2096);
  EXPECT_GT(slots, 1700);  // and no smaller than that takes
  EXPECT_LE(changes, 12);
  run(0, 200, 600);
  EXPECT_EQ(slots, 3000);
}

// The kernel says that some memory is left, and tasks wait for it nevertheless.
TEST(MemoryGovernor, StallsMakeItGiveWayBeforeTheReserveIsTouched) {
  MemoryGovernor governor({.slot_bytes = kMiB, .fewest = 9, .most = 1000}, kTotal);
  const std::uint64_t reserve = governor.reserve_bytes(), some = 3 * reserve;
  EXPECT_EQ(governor.slots(some, 0.05, 1000, at(1)), 1000);  // a moment here and there
  const int after = governor.slots(some, 0.2, 1000, at(2));
  EXPECT_NEAR(static_cast<double>(1000 - after), static_cast<double>(reserve / kMiB), 1.5);
  EXPECT_EQ(governor.slots(some, 0.2, after, at(2)), after);  // what it gave back has to show first
  EXPECT_LT(governor.slots(some, 0.2, after, at(3)), after);
}

TEST(MemoryGovernor, StallsOfOthersWhoHaveALimitOfTheirOwnCostNothing) {
  MemoryGovernor governor({.slot_bytes = kMiB, .fewest = 9, .most = 1000}, kTotal);
  for (int second = 0; second < 100; ++second)
    EXPECT_EQ(governor.slots(4 * governor.reserve_bytes(), 1.0, 1000, at(second)), 1000);
}

TEST(MemoryGovernor, AfterAStallItGrowsOnlyWhenNothingHasStalledForAMinute) {
  MemoryGovernor governor({.slot_bytes = kMiB, .fewest = 9, .most = 1000}, kTotal);
  const std::uint64_t some = 3 * governor.reserve_bytes(), plenty = 20 * governor.reserve_bytes();
  int slots = governor.slots(some, 0.2, 1000, at(100));
  ASSERT_LT(slots, 1000);
  for (int second = 101; second < 160; ++second) EXPECT_EQ(governor.slots(plenty, 0, slots, at(second)), slots);
  EXPECT_GT(governor.slots(plenty, 0, slots, at(160)), slots);
  // However long it stalls, what a layer needs stays.
  for (int second = 200; second < 400; ++second) slots = governor.slots(some, 1.0, slots, at(second));
  EXPECT_EQ(slots, 9);
}

}  // namespace
}  // namespace sluice
