// The law of reading: equals an independent copy for random extents, residues and faults; success means every byte.
#include "io/read_queue.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>

#include "io/aligned.h"
#include "support/any_queue.h"
#include "support/gated_files.h"
#include "support/memory_files.h"

namespace sluice {
namespace {

constexpr std::byte kUntouched{0xa5};

struct Job {
  std::vector<Extent> extents;
  PageArena slot;
};

// Extents at random places, packed into a slot page by page, in random order.
Job random_job(const test::MemoryFiles& files, std::mt19937_64& random, std::uint64_t longest) {
  Job job;
  std::uint64_t room = 0;
  const int count = static_cast<int>(random() % 5);
  for (int index = 0; index < count; ++index) {
    Extent extent;
    extent.file = static_cast<int>(random() % static_cast<std::uint64_t>(files.count()));
    const std::uint64_t size = files.size(extent.file);
    extent.offset = random() % size;
    if (random() % 4 == 0) extent.offset = page_floor(extent.offset);
    extent.bytes = random() % std::min(longest, size - extent.offset + 1);
    if (random() % 4 == 0) extent.bytes = std::min(longest, size - extent.offset);  // up to the end of the file
    extent.slot_offset = room + extent.offset % kDiskPage;
    room = page_ceil(extent.slot_offset + extent.bytes);
    job.extents.push_back(extent);
  }
  std::shuffle(job.extents.begin(), job.extents.end(), random);
  job.slot = PageArena(room + kDiskPage);
  std::memset(job.slot.data(), static_cast<int>(kUntouched), job.slot.size());
  return job;
}

void expect_bytes(test::MemoryFiles& files, const Job& job) {
  for (const Extent& extent : job.extents) {
    if (extent.bytes == 0) continue;
    EXPECT_EQ(0, std::memcmp(job.slot.data() + extent.slot_offset, files.bytes(extent.file).data() + extent.offset,
                             extent.bytes));
  }
  EXPECT_EQ(job.slot.data()[job.slot.size() - 1], kUntouched);  // nothing beyond the last window
}

using test::QueueOf;

class ReadQueueLaw : public testing::TestWithParam<std::tuple<ReadEngine, bool, int, double>> {};

TEST_P(ReadQueueLaw, EqualsAnIndependentCopy) {
  const auto [engine, aligned, readers, short_reads] = GetParam();
  SLUICE_NEEDS(engine);
  test::MemoryFiles files(aligned, {.short_reads = short_reads, .seed = 7});
  files.add(test::random_bytes(10'000'019, 1));
  files.add(test::random_bytes(5'000, 2));
  files.add(test::random_bytes(4 * kDiskPage, 3));
  const QueueOf queue(engine, files, readers);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::vector<Job> jobs;
    for (int job = 0; job < 8; ++job) jobs.push_back(random_job(files, random, job == 0 ? 9'500'000 : 30'000));
    Landings landings;
    for (std::size_t job = 0; job < jobs.size(); ++job)
      queue->submit(job, jobs[job].extents, jobs[job].slot.slice(0, jobs[job].slot.size() - kDiskPage),
                    random() % 2 ? Urgency::demand : Urgency::next, landings);
    std::vector<bool> seen(jobs.size());
    for (std::size_t count = 0; count < jobs.size(); ++count) {
      const Landed landed = landings.wait();
      ASSERT_TRUE(landed.status.has_value()) << landed.status.error().what;
      ASSERT_FALSE(seen[landed.tag]);
      seen[landed.tag] = true;
      expect_bytes(files, jobs[landed.tag]);
    }
    Landed none;
    EXPECT_FALSE(landings.poll(none));
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, ReadQueueLaw,
                         testing::Combine(testing::Values(ReadEngine::threads), testing::Bool(),
                                          testing::Values(0, 1, 4), testing::Values(0.0, 0.4)));
INSTANTIATE_TEST_SUITE_P(RingModes, ReadQueueLaw,
                         testing::Combine(testing::Values(ReadEngine::ring), testing::Bool(), testing::Values(1, 4),
                                          testing::Values(0.0, 0.4)));

class ReadQueueTest : public test::OverEngines {};
SLUICE_OVER_ENGINES(ReadQueueTest);

TEST_P(ReadQueueTest, AFailedReadIsReportedOnceAndNamesTheFile) {
  test::MemoryFiles files(true, {.failing_reads = 0.02, .longest_delay = std::chrono::microseconds(200), .seed = 3});
  files.add(test::random_bytes(20'000'000, 1));
  const QueueOf queue(GetParam(), files, 3);
  int failures = 0;
  for (int round = 0; round < 30; ++round) {
    const PageArena slot(20'004'864);
    Landings landings;
    const Extent all{0, 0, 20'000'000, 0};
    queue->submit(5, {&all, 1}, slot.slice(0, slot.size()), Urgency::demand, landings);
    const Landed landed = landings.wait();
    EXPECT_EQ(landed.tag, 5u);
    if (landed.status) {
      EXPECT_EQ(0, std::memcmp(slot.data(), files.bytes(0).data(), 20'000'000));
    } else {
      ++failures;
      EXPECT_EQ(landed.status.error().kind, ErrorKind::io);
      EXPECT_NE(landed.status.error().what.find("file-0"), std::string::npos);
    }
    Landed again;
    EXPECT_FALSE(landings.poll(again));
  }
  EXPECT_GT(failures, 0);
  EXPECT_LT(failures, 30);
}

TEST_P(ReadQueueTest, AFileThatEndsEarlyIsCorrupt) {
  for (bool aligned : {false, true}) {
    test::MemoryFiles files(aligned);
    files.add(test::random_bytes(9'000, 1));
    const QueueOf queue(GetParam(), files, 1);
    const PageArena slot(16'384);
    Landings landings;
    const Extent beyond{0, 5'000, 4'001, 5'000 % kDiskPage};  // one byte too many
    queue->submit(1, {&beyond, 1}, slot.slice(0, slot.size()), Urgency::demand, landings);
    const Landed landed = landings.wait();
    ASSERT_FALSE(landed.status.has_value());
    EXPECT_EQ(landed.status.error().kind, ErrorKind::corrupt);
    EXPECT_NE(landed.status.error().what.find("file-0"), std::string::npos);
  }
}

TEST_P(ReadQueueTest, DemandOvertakesReadAhead) {
  test::MemoryFiles files(false, {.longest_delay = std::chrono::milliseconds(4)});
  files.add(test::random_bytes(4 << 20, 1));
  const QueueOf queue(GetParam(), files, 1);
  const PageArena slots(12 * kDiskPage);
  Landings landings;
  const Extent extent{0, 0, kDiskPage, 0};
  for (std::uint64_t tag = 0; tag < 10; ++tag)
    queue->submit(tag, {&extent, 1}, slots.slice(tag * kDiskPage, kDiskPage), Urgency::next, landings);
  queue->submit(10, {&extent, 1}, slots.slice(10 * kDiskPage, kDiskPage), Urgency::demand, landings);
  int place = -1;  // of the demanded read among the landings
  for (int count = 0; count <= 10; ++count)
    if (landings.wait().tag == 10) place = count;
  EXPECT_LE(place, 2);  // behind what was being read already
}

TEST_P(ReadQueueTest, AHurriedReadOvertakesReadAhead) {
  test::MemoryFiles files(false, {.longest_delay = std::chrono::milliseconds(4)});
  files.add(test::random_bytes(4 << 20, 1));
  const QueueOf queue(GetParam(), files, 1);
  const PageArena slots(10 * kDiskPage);
  Landings landings, others;
  const Extent extent{0, 0, kDiskPage, 0};
  for (std::uint64_t tag = 0; tag < 10; ++tag)
    queue->submit(tag, {&extent, 1}, slots.slice(tag * kDiskPage, kDiskPage), Urgency::next, landings);
  queue->hurry(9, others);    // nobody's
  queue->hurry(9, landings);  // the last
  queue->hurry(9, landings);  // once is enough
  int place = -1;
  for (int count = 0; count < 10; ++count)
    if (landings.wait().tag == 9) place = count;
  EXPECT_LE(place, 2);        // behind what was being read already
  queue->hurry(9, landings);  // it has landed
  Landed none;
  EXPECT_FALSE(landings.poll(none));
}

TEST_P(ReadQueueTest, WhatIsReadWhileTheDiskIsIdleIsOvertakenByAllElse) {
  test::MemoryFiles memory(false);
  memory.add(test::random_bytes(16 * kDiskPage, 1));
  test::GatedFiles files(memory);
  const QueueOf queue(GetParam(), files, 1);
  const PageArena slots(16 * kDiskPage);
  Landings landings;
  const auto submit = [&](std::uint64_t tag, Urgency urgency) {  // reads the page of its number
    const Extent extent{0, tag * kDiskPage, kDiskPage, 0};
    queue->submit(tag, {&extent, 1}, slots.slice(tag * kDiskPage, kDiskPage), urgency, landings);
  };
  submit(0, Urgency::idle);
  while (files.reads().empty()) std::this_thread::yield();
  for (std::uint64_t tag = 1; tag < 7; ++tag) submit(tag, Urgency::idle);
  for (std::uint64_t tag = 10; tag < 13; ++tag) submit(tag, Urgency::next);
  submit(13, Urgency::demand);
  queue->hurry(5, landings);  // behind the demanded one
  queue->withdraw(4, landings);
  files.open();
  for (int count = 0; count < 11; ++count) landings.wait();
  std::vector<std::uint64_t> order;
  for (const test::GatedFiles::Read& read : files.reads()) order.push_back(read.offset / kDiskPage);
  EXPECT_EQ(order, (std::vector<std::uint64_t>{0, 13, 5, 10, 11, 12, 1, 2, 3, 6}));
}

TEST_P(ReadQueueTest, DestructionWaitsForEverythingQueued) {
  test::MemoryFiles files(false, {.longest_delay = std::chrono::milliseconds(2)});
  files.add(test::random_bytes(4 << 20, 1));
  const PageArena slots(20 * kDiskPage);
  Landings landings;
  const Extent extent{0, 0, kDiskPage, 0};
  {
    const QueueOf queue(GetParam(), files, 2);
    for (std::uint64_t tag = 0; tag < 20; ++tag)
      queue->submit(tag, {&extent, 1}, slots.slice(tag * kDiskPage, kDiskPage), Urgency::next, landings);
  }
  Landed landed;
  int count = 0;
  while (landings.poll(landed)) ++count;
  EXPECT_EQ(count, 20);
}

TEST_P(ReadQueueTest, AWithdrawnRequestLandsOnceAndSoon) {
  test::MemoryFiles files(false, {.longest_delay = std::chrono::milliseconds(2)});
  files.add(test::random_bytes(32 << 20, 1));
  const QueueOf queue(GetParam(), files, 2);
  const PageArena slots(64 << 20);
  Landings landings, others;
  const Extent part{0, 0, 32 << 20, 0};
  queue->submit(1, {&part, 1}, slots.slice(0, 32 << 20), Urgency::next, landings);
  queue->submit(1, {&part, 1}, slots.slice(32 << 20, 32 << 20), Urgency::next, others);
  queue->withdraw(1, others);
  queue->withdraw(2, landings);
  const Landed kept = landings.wait(), withdrawn = others.wait();
  EXPECT_TRUE(kept.status.has_value());
  ASSERT_FALSE(withdrawn.status.has_value());
  EXPECT_EQ(withdrawn.status.error().kind, ErrorKind::cancelled);
  EXPECT_LT(files.reads(), 16u);
  queue->withdraw(1, landings);
  Landed none;
  EXPECT_FALSE(landings.poll(none));
  EXPECT_FALSE(others.poll(none));
}

TEST_P(ReadQueueTest, StatsCountRequestsBytesAndBusyTime) {
  test::MemoryFiles files(true);
  files.add(test::random_bytes(1 << 20, 1));
  const QueueOf queue(GetParam(), files, 2);
  const PageArena slot(kDiskPage * 2);
  Landings landings;
  const Extent extent{0, 100, 1'000, 100};
  queue->submit(0, {&extent, 1}, slot.slice(0, slot.size()), Urgency::demand, landings);
  queue->submit(1, {}, slot.slice(0, slot.size()), Urgency::demand, landings);
  landings.wait();
  landings.wait();
  EXPECT_EQ(queue->stats().requests, 2u);
  EXPECT_EQ(queue->stats().bytes, 1'000u);  // not the widened window
  EXPECT_GT(queue->stats().busy_seconds, 0);
}

}  // namespace
}  // namespace sluice
