// A slot is on the list of its state and on no other, whatever happens to it.
#include "residency/slots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "io/extent.h"

namespace sluice {
namespace {

void expect_consistent(const Slots& slots) {
  std::vector<int> seen(static_cast<std::size_t>(slots.count()), 0);
  for (SlotState state : {SlotState::empty, SlotState::in_flight, SlotState::held, SlotState::leased, SlotState::away})
    for (int slot : slots.in(state)) {
      EXPECT_EQ(slots.state(slot), state);
      ++seen[static_cast<std::size_t>(slot)];
    }
  EXPECT_TRUE(std::ranges::all_of(seen, [](int count) { return count == 1; }));
}

TEST(Slots, EachIsOnExactlyOneList) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Slots slots(1 + static_cast<int>(random() % 7), kDiskPage);
    const BlockLayout layout;
    std::vector<Lease> leases;
    for (int step = 0; step < 300; ++step) {
      const int slot = static_cast<int>(random() % static_cast<std::uint64_t>(slots.count()));
      const SlotState before = slots.state(slot);
      switch (random() % 5) {
        case 0:
          if (before == SlotState::empty || before == SlotState::held) slots.fill(slot);
          break;
        case 1:
          if (before == SlotState::in_flight) random() % 3 ? slots.landed(slot) : slots.failed(slot);
          break;
        case 2:
          if (before == SlotState::empty)
            slots.give_back(slot);
          else if (before == SlotState::away)
            slots.take_back(slot);
          break;
        case 3:
          if (before == SlotState::held || before == SlotState::leased) leases.push_back(slots.lease(slot, &layout));
          break;
        default:
          if (!leases.empty()) {
            std::swap(leases[random() % leases.size()], leases.back());
            leases.pop_back();
          }
      }
      expect_consistent(slots);
    }
    leases.clear();
    EXPECT_TRUE(slots.in(SlotState::leased).empty());
  }
}

// Fresh memory is zero, so memory that the system has taken back is too.
TEST(Slots, TheSystemGetsTheMemoryOfASlotThatIsGivenBack) {
  Slots slots(3, kDiskPage);
  for (int slot = 0; slot < 3; ++slot) {
    slots.fill(slot);
    std::ranges::fill(slots.bytes(slot), std::byte{7});
    slots.landed(slot);
  }
  slots.failed(1);
  slots.give_back(1);
  EXPECT_EQ(slots.first_empty(), -1);
  slots.take_back(1);
  EXPECT_EQ(slots.first_empty(), 1);
  for (int slot = 0; slot < 3; ++slot)
    EXPECT_TRUE(
        std::ranges::all_of(slots.bytes(slot), [&](std::byte byte) { return byte == std::byte(slot == 1 ? 0 : 7); }));
}

TEST(Slots, TheLowestEmptySlotsAreFilledFirst) {
  Slots slots(3, kDiskPage);
  for (int slot = 0; slot < 3; ++slot) {
    EXPECT_EQ(slots.first_empty(), slot);
    slots.fill(slot);
  }
  EXPECT_EQ(slots.first_empty(), -1);
}

using SlotsDeathTest = testing::Test;

TEST(SlotsDeathTest, ASlotInUseCannotBeFilled) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const BlockLayout layout;
  Slots slots(1, kDiskPage);
  slots.fill(0);
  EXPECT_EXIT(slots.fill(0), testing::ExitedWithCode(70), "does not hold");
  slots.landed(0);
  const Lease lease = slots.lease(0, &layout);
  EXPECT_EXIT(slots.fill(0), testing::ExitedWithCode(70), "does not hold");
}

}  // namespace
}  // namespace sluice
