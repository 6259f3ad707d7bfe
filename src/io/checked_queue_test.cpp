// A checked queue reads what the queue inside reads, once checked; what a check refuses is a failed read.
#include "io/checked_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <set>

#include "io/aligned.h"
#include "support/any_queue.h"
#include "support/memory_files.h"
#include "support/must.h"

namespace sluice {
namespace {

using test::must;

// Each place of a file is due once; files of an odd number are refused.
class OnceEach final : public ReadCheck {
 public:
  bool due(std::span<const Extent> extents) const override {
    const std::scoped_lock lock(mutex_);
    for (const Extent& extent : extents)
      if (!seen_.contains({extent.file, extent.offset})) return true;
    return false;
  }
  Result<> check(std::span<const Extent> extents, const std::byte* slot, const Files& files,
                 std::span<const SourcePiece>) override {
    ++checks;
    for (const Extent& extent : extents) {
      if (slot[extent.slot_offset] == std::byte{0}) return fail(ErrorKind::bug, "it was checked before it came");
      if (extent.file % 2 == 1) return fail(ErrorKind::corrupt, files.path(extent.file) + " is odd");
      const std::scoped_lock lock(mutex_);
      seen_.insert({extent.file, extent.offset});
    }
    return {};
  }
  std::atomic<int> checks{0};

 private:
  mutable std::mutex mutex_;
  std::set<std::pair<int, std::uint64_t>> seen_;
};

class CheckedQueueTest : public testing::TestWithParam<std::tuple<ReadEngine, int>> {
 protected:
  CheckedQueueTest() : files_(false, {.short_reads = 0.2, .longest_delay = std::chrono::microseconds(200)}) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      std::vector<std::byte> bytes = test::random_bytes(64 * kDiskPage, seed);
      for (std::byte& byte : bytes) byte |= std::byte{1};
      files_.add(std::move(bytes));
    }
    auto check = std::make_unique<OnceEach>();
    check_ = check.get();
    const auto [engine, readers] = GetParam();
    if (engine == ReadEngine::ring && ring_refusal()) return;
    queue_ = must(make_checked_queue(test::make_queue(engine, sources_, readers), std::move(check)));
  }
  void SetUp() override { SLUICE_NEEDS(std::get<0>(GetParam())); }
  void submit(std::uint64_t tag, int file, std::uint64_t page, Landings& landings) {
    const Extent extent{file, page * kDiskPage, kDiskPage, 0};
    const std::span<std::byte> slot = memory_.slice(tag * kDiskPage, kDiskPage);
    std::memset(slot.data(), 0, slot.size());
    queue_->submit(tag, {&extent, 1}, slot, Urgency::next, landings);
  }
  bool holds(std::uint64_t tag, int file, std::uint64_t page) {
    return std::memcmp(memory_.data() + tag * kDiskPage, files_.bytes(file).data() + page * kDiskPage, kDiskPage) == 0;
  }

  test::MemoryFiles files_;
  ReadSources sources_{{{&files_}}};
  PageArena memory_{128 * kDiskPage};
  OnceEach* check_ = nullptr;
  std::unique_ptr<ReadQueue> queue_;
};

TEST_P(CheckedQueueTest, ReadsAndChecksOnce) {
  Landings landings;
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t page = 0; page < 64; ++page) submit(page, 0, page, landings);
    for (int landing = 0; landing < 64; ++landing) {
      const Landed landed = landings.wait();
      EXPECT_TRUE(landed.status) << landed.status.error().what;
      EXPECT_TRUE(holds(landed.tag, 0, landed.tag));
    }
    EXPECT_EQ(check_->checks, 64);
  }
}

TEST_P(CheckedQueueTest, WhatIsRefusedFailsEveryTimeAndOthersDoNot) {
  Landings ours, theirs;
  for (int round = 0; round < 3; ++round) {
    submit(0, 1, 3, ours);
    submit(0 + 64, 2, 3, theirs);
    const Landed refused = ours.wait(), read = theirs.wait();
    ASSERT_FALSE(refused.status);
    EXPECT_EQ(refused.status.error().kind, ErrorKind::corrupt);
    EXPECT_EQ(refused.tag, 0u);
    EXPECT_TRUE(read.status);
    EXPECT_EQ(read.tag, 64u);
  }
}

// Tags belong to their requesters; every request lands once, taken back or not.
TEST_P(CheckedQueueTest, TakenBackOrHurriedEachLandsOnce) {
  Landings ours, theirs;
  for (std::uint64_t tag = 0; tag < 60; ++tag) {
    submit(tag, 0, tag, ours);
    const Extent extent{2, tag * kDiskPage, kDiskPage, 0};
    queue_->submit(tag, {&extent, 1}, memory_.slice((64 + tag) * kDiskPage, kDiskPage), Urgency::next, theirs);
  }
  for (std::uint64_t tag = 0; tag < 60; ++tag) tag % 2 == 0 ? queue_->withdraw(tag, ours) : queue_->hurry(tag, ours);
  std::set<std::uint64_t> landed;
  for (int landing = 0; landing < 60; ++landing) {
    const Landed mine = ours.wait();
    EXPECT_TRUE(landed.insert(mine.tag).second);
    if (mine.status)
      EXPECT_TRUE(holds(mine.tag, 0, mine.tag));
    else
      EXPECT_EQ(mine.status.error().kind, ErrorKind::cancelled);
    EXPECT_TRUE(mine.status || mine.tag % 2 == 0);
    EXPECT_TRUE(theirs.wait().status);
  }
}

TEST_P(CheckedQueueTest, ItsEndWaitsForAll) {
  Landings landings;
  for (std::uint64_t tag = 0; tag < 30; ++tag) submit(tag, tag % 2 == 0 ? 0 : 1, tag, landings);
  queue_.reset();
  Landed landed;
  int all = 0;
  while (landings.poll(landed)) ++all;
  EXPECT_EQ(all, 30);
}

TEST_P(CheckedQueueTest, AFailedReadIsNotChecked) {
  files_.set_faults({.failing_reads = 1});
  Landings landings;
  submit(0, 0, 0, landings);
  const Landed landed = landings.wait();
  ASSERT_FALSE(landed.status);
  EXPECT_EQ(landed.status.error().kind, ErrorKind::io);
  EXPECT_EQ(check_->checks, 0);
}

INSTANTIATE_TEST_SUITE_P(WithReaders, CheckedQueueTest,
                         testing::Combine(testing::Values(ReadEngine::threads), testing::Values(0, 1, 4)));
INSTANTIATE_TEST_SUITE_P(WithRing, CheckedQueueTest,
                         testing::Combine(testing::Values(ReadEngine::ring), testing::Values(1, 4)));

}  // namespace
}  // namespace sluice
