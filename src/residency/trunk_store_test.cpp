// Random walks, pins, rings, delays and failures: every lease shows the bytes on disk, with a ring of one step or many.
#include "residency/trunk_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "io/aligned.h"
#include "support/random_blocks.h"
#include "support/scattered_steps.h"

namespace sluice {
namespace {

class TrunkStoreTest : public testing::Test {
 protected:
  TrunkStoreTest()
      : files_(true, {.short_reads = 0.1, .longest_delay = std::chrono::microseconds(100)}),
        blocks_(test::scatter_blocks(files_, 17, 30'000, 21)),
        queue_(make_pread_queue(files_, 3)) {}

  int steps() const { return static_cast<int>(blocks_.size()); }
  const test::ScatteredBlock& block(int step) const { return blocks_[static_cast<std::size_t>(step)]; }
  // The largest step that is not among those that are pinned when `count` are.
  std::uint64_t largest_beside(int count) const {
    const std::vector<int> pinned = test::scattered_steps(steps(), count);
    std::uint64_t largest = 0;
    for (int step = 0; step < steps(); ++step)
      if (!std::ranges::binary_search(pinned, step)) largest = std::max(largest, block(step).layout.slot_bytes);
    return largest;
  }
  std::unique_ptr<TrunkStore> store(int pinned, std::uint64_t ring) {
    std::vector<BlockSpec> specs;
    std::vector<BlockLayout> layouts;
    for (const test::ScatteredBlock& one : blocks_) specs.push_back(one.spec), layouts.push_back(one.layout);
    return make_trunk_store(specs, layouts, {test::scattered_steps(steps(), pinned), ring}, *queue_);
  }

  test::MemoryFiles files_;
  std::vector<test::ScatteredBlock> blocks_;
  std::unique_ptr<ReadQueue> queue_;
};

TEST_F(TrunkStoreTest, EveryLeaseShowsTheBytesOnDisk) {
  for (int pinned : {0, 1, 8, 16, 17})
    for (double steps_of_ring : {1.0, 1.3, 2.0, 3.5, 30.0}) {
      SCOPED_TRACE(testing::Message() << pinned << " pinned, ring of " << steps_of_ring);
      const auto ring =
          page_ceil(static_cast<std::uint64_t>(static_cast<double>(largest_beside(pinned)) * steps_of_ring));
      const auto trunk = store(pinned, ring);
      std::mt19937_64 random(static_cast<std::uint64_t>(pinned) * 100 + static_cast<std::uint64_t>(steps_of_ring));
      for (int walk = 0; walk < 12; ++walk) {
        const int end = random() % 3 ? steps() : static_cast<int>(random() % static_cast<std::uint64_t>(steps()));
        for (int step = 0; step < end; ++step) {
          if (random() % 16 == 0) continue;  // some steps are not visited
          const auto lease = trunk->acquire(step);
          ASSERT_TRUE(lease.has_value()) << lease.error().what;
          EXPECT_TRUE(test::shows(*lease, block(step), files_));
        }
      }
    }
}

// A glance at a pinned step shows its bytes once they are there, and nothing else; it reads nothing, and the walk and
// what is read ahead of it are as if there had been none.
TEST_F(TrunkStoreTest, AGlanceReadsNothing) {
  constexpr int kPinned = 8;
  const std::vector<int> pinned = test::scattered_steps(steps(), kPinned);
  std::vector<std::uint64_t> bytes;
  for (const bool glances : {false, true}) {
    const auto trunk = store(kPinned, 2 * largest_beside(kPinned));
    EXPECT_FALSE(glances && trunk->peek(pinned.back()).has_value());  // not read yet
    for (int walk = 0; walk < 3; ++walk)
      for (int step = 0; step < steps(); ++step) {
        for (int other = 0; glances && other < steps(); ++other) {
          const std::optional<Lease> seen = trunk->peek(other);
          const bool is_pinned = std::ranges::binary_search(pinned, other);
          EXPECT_TRUE(is_pinned || !seen);
          EXPECT_TRUE(seen || !is_pinned || walk == 0);
          EXPECT_TRUE(!seen || test::shows(*seen, block(other), files_));
        }
        ASSERT_TRUE(trunk->acquire(step).has_value());
      }
    bytes.push_back(trunk->stats().bytes_read);
  }
  EXPECT_EQ(bytes[0], bytes[1]);
}

TEST_F(TrunkStoreTest, PinnedStepsAreReadOnceAndTheOthersOnceAWalk) {
  constexpr int kPinned = 5, kWalks = 6;
  const auto trunk = store(kPinned, 2 * largest_beside(kPinned));
  std::uint64_t pinned_bytes = 0, other_bytes = 0;
  const std::vector<int> pinned = test::scattered_steps(steps(), kPinned);
  for (int step = 0; step < steps(); ++step)
    (std::ranges::binary_search(pinned, step) ? pinned_bytes : other_bytes) += block(step).layout.payload_bytes;
  for (int walk = 0; walk < kWalks; ++walk)
    for (int step = 0; step < steps(); ++step) ASSERT_TRUE(trunk->acquire(step).has_value());
  const std::uint64_t needed = pinned_bytes + kWalks * other_bytes, read = trunk->stats().bytes_read;
  EXPECT_GE(read, needed);
  EXPECT_LE(read, needed + 2 * largest_beside(kPinned));  // read ahead for the next walk
}

TEST_F(TrunkStoreTest, ShortWalksStopReadingAheadWhereTheyEnd) {
  constexpr int kEnd = 9, kWalks = 10;  // as prefill does, which does not visit the head
  const auto trunk = store(0, 2 * largest_beside(0));
  std::uint64_t walk_bytes = 0;
  for (int step = 0; step < kEnd; ++step) walk_bytes += block(step).layout.payload_bytes;
  for (int walk = 0; walk < kWalks; ++walk)
    for (int step = 0; step < kEnd; ++step) ASSERT_TRUE(trunk->acquire(step).has_value());
  // One wrong guess (the first walk), and the read-ahead that is under way now.
  EXPECT_LE(trunk->stats().bytes_read, kWalks * walk_bytes + 2 * 2 * largest_beside(0));
}

TEST_F(TrunkStoreTest, AFailedReadNamesTheStepAndTheNextWalkReadsAgain) {
  for (int pinned : {0, 6}) {
    const auto trunk = store(pinned, 3 * largest_beside(pinned));
    files_.set_faults({.short_reads = 0.2, .failing_reads = 0.1, .seed = 5});
    int failures = 0;
    for (int walk = 0; walk < 30; ++walk)
      for (int step = 0; step < steps(); ++step) {
        const auto lease = trunk->acquire(step);
        if (!lease) {
          ++failures;
          EXPECT_EQ(lease.error().kind, ErrorKind::io);
          EXPECT_NE(lease.error().what.find(block(step).spec.label + ":"), std::string::npos) << lease.error().what;
          EXPECT_NE(lease.error().what.find("file-"), std::string::npos);
          break;
        }
        EXPECT_TRUE(test::shows(*lease, block(step), files_));
      }
    EXPECT_GT(failures, 3);
    files_.set_faults({});
    for (int walk = 0; walk < 3; ++walk)
      for (int step = 0; step < steps(); ++step) {
        const auto lease = trunk->acquire(step);
        if (walk == 0 && !lease) break;  // a failure from before
        ASSERT_TRUE(lease.has_value()) << lease.error().what;
        EXPECT_TRUE(test::shows(*lease, block(step), files_));
      }
  }
}

TEST_F(TrunkStoreTest, ACorruptScaleIsRefusedByName) {
  for (int pinned : {0, 17}) {
    int step = 0;
    std::size_t tensor = 0;
    for (int s = 0; s < steps(); ++s)
      for (std::size_t t = 0; t < block(s).tensors.size(); ++t)
        if (block(s).tensors[t].scales.bytes > 0) step = s, tensor = t;
    const test::RunOnDisk scales = block(step).tensors[tensor].scales;
    const std::byte before = std::exchange(files_.bytes(scales.file)[scales.offset], std::byte{254});
    const auto trunk = store(pinned, largest_beside(pinned));
    for (int s = 0; s <= step; ++s) {
      const auto lease = trunk->acquire(s);
      ASSERT_EQ(lease.has_value(), s < step);
      if (lease) continue;
      EXPECT_EQ(lease.error().kind, ErrorKind::corrupt);
      EXPECT_NE(lease.error().what.find(block(step).spec.tensors[tensor].name), std::string::npos);
      EXPECT_NE(lease.error().what.find(files_.path(scales.file)), std::string::npos);
    }
    files_.bytes(scales.file)[scales.offset] = before;
  }
}

TEST_F(TrunkStoreTest, ClosingDoesNotWaitForAWholePinnedLoad) {
  files_.set_faults({.longest_delay = std::chrono::milliseconds(20)});
  const std::uint64_t before = files_.reads();
  {
    const auto trunk = store(17, 0);
    ASSERT_TRUE(trunk->acquire(0).has_value());
  }
  EXPECT_LT(files_.reads() - before, 25u);  // all steps together need more
}

// Reads that nobody waits for may stand before those ahead of the walk; they do not hold the walk up.
TEST_F(TrunkStoreTest, AStepThatIsWaitedForGoesFirst) {
  queue_ = make_pread_queue(files_, 1);
  files_.set_faults({.longest_delay = std::chrono::milliseconds(4)});
  constexpr int kOthers = 16;
  const std::uint64_t slot = page_ceil(block(0).layout.slot_bytes);
  PageArena others(slot * kOthers);
  Landings landings;
  const auto trunk = store(17, 0);
  for (int other = 0; other < kOthers; ++other) {
    const auto tag = static_cast<std::uint64_t>(other);
    queue_->submit(tag, block(0).layout.extents, others.slice(tag * slot, slot), Urgency::next, landings);
  }
  for (const int step : {0, 1}) ASSERT_TRUE(trunk->acquire(step).has_value());
  int landed = 0;
  for (Landed one; landings.poll(one);) ++landed;
  EXPECT_LT(landed, kOthers / 2);
  for (; landed < kOthers; ++landed) landings.wait();
}

// An owner with nothing else to do.
void rest(TrunkStore& trunk) {
  while (trunk.tend()) std::this_thread::sleep_for(std::chrono::microseconds(200));
}

TEST_F(TrunkStoreTest, AnIdleOwnerHasAllThatStaysReadAndTheFirstWalkReadsNoneOfIt) {
  for (const int pinned : {17, 8, 0}) {
    SCOPED_TRACE(pinned);
    const std::uint64_t largest = largest_beside(pinned);
    const auto trunk = store(pinned, 2 * largest);
    rest(*trunk);
    std::uint64_t pinned_bytes = 0, other_bytes = 0;
    const std::vector<int> stays = test::scattered_steps(steps(), pinned);
    for (int step = 0; step < steps(); ++step)
      (std::ranges::binary_search(stays, step) ? pinned_bytes : other_bytes) += block(step).layout.payload_bytes;
    const std::uint64_t before = trunk->stats().bytes_read;
    EXPECT_GE(before, pinned_bytes);
    EXPECT_EQ(before > pinned_bytes, pinned < 17);  // the ring is filled as well
    EXPECT_FALSE(trunk->tend());
    EXPECT_EQ(trunk->stats().bytes_read, before);  // once
    for (int step = 0; step < steps(); ++step) {
      const auto lease = trunk->acquire(step);
      ASSERT_TRUE(lease.has_value()) << lease.error().what;
      EXPECT_TRUE(test::shows(*lease, block(step), files_));
    }
    EXPECT_GE(trunk->stats().bytes_read, pinned_bytes + other_bytes);
    EXPECT_LE(trunk->stats().bytes_read, pinned_bytes + other_bytes + 2 * largest);  // ahead, for the next walk
  }
}

TEST_F(TrunkStoreTest, AWalkTakesOverWhatIsOnItsWay) {
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const int pinned = static_cast<int>(random() % 18);
    const auto trunk = store(pinned, 3 * largest_beside(pinned));
    for (int walk = 0; walk < 3; ++walk) {
      const auto calls = random() % 12;
      for (unsigned call = 0; call < calls; ++call) {
        trunk->tend();
        if (random() % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
      const auto end = walk == 0 ? static_cast<int>(random() % 17) + 1 : steps();
      for (int step = 0; step < end; ++step) {
        const auto lease = trunk->acquire(step);
        ASSERT_TRUE(lease.has_value()) << lease.error().what;
        EXPECT_TRUE(test::shows(*lease, block(step), files_));
      }
    }
    std::uint64_t all = 0;
    for (int step = 0; step < steps(); ++step) all += block(step).layout.payload_bytes;
    if (pinned == 17) {
      EXPECT_EQ(trunk->stats().bytes_read, all);
    }
  }
}

TEST_F(TrunkStoreTest, WhatAnIdleOwnerCouldNotReadIsReadWhenItIsNeeded) {
  for (const int pinned : {17, 5}) {
    const auto trunk = store(pinned, 2 * largest_beside(pinned));
    files_.set_faults({.failing_reads = 1});
    rest(*trunk);  // ends
    files_.set_faults({});
    for (int step = 0; step < steps(); ++step) {
      const auto lease = trunk->acquire(step);
      ASSERT_TRUE(lease.has_value()) << lease.error().what;
      EXPECT_TRUE(test::shows(*lease, block(step), files_));
    }
  }
}

TEST_F(TrunkStoreTest, ClosingDoesNotWaitForWhatAnIdleOwnerBegan) {
  files_.set_faults({.longest_delay = std::chrono::milliseconds(20)});
  const std::uint64_t before = files_.reads();
  {
    const auto trunk = store(17, 0);
    trunk->tend();
  }
  EXPECT_LT(files_.reads() - before, 12u);
}

}  // namespace
}  // namespace sluice
