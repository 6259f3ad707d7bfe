// The yardsticks are plausible, name a file that cannot be read, and see a disk that is slow.
#include "residency/joint_probe.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "support/memory_files.h"

namespace sluice {
namespace {

constexpr JointProbeShape kSmall{
    .threads = 1, .read_bytes = 100'000, .depth = 2, .seconds = 0.05, .memory_bytes = std::uint64_t{4} << 20};

std::unique_ptr<JointProbe> open(const std::vector<const Files*>& directories) {
  return JointProbe::open(directories, kSmall).value();
}

TEST(JointProbe, ReadsFromEveryDirectoryAtTheSameTime) {
  constexpr auto kDelay = std::chrono::milliseconds(10);
  test::MemoryFiles one(true, {.longest_delay = kDelay, .seed = 1}), other(true, {.longest_delay = kDelay, .seed = 2});
  one.add(test::random_bytes(1'000'000, 1));
  other.add(test::random_bytes(1'000'000, 1));
  const auto alone = open({&one})->measure(), both = open({&one, &other})->measure();
  ASSERT_TRUE(alone.has_value() && both.has_value());
  EXPECT_GT(other.reads(), 10u);
  EXPECT_GT(both->disk_alone, 1.4 * alone->disk_alone);
}

TEST(JointProbe, SeesASlowDisk) {
  test::MemoryFiles files(true);
  files.add(test::random_bytes(1'000'000, 1));
  files.add(test::random_bytes(3'000, 2));  // smaller than a read
  const std::unique_ptr<JointProbe> probe = open({&files});
  const auto quick = probe->measure();
  ASSERT_TRUE(quick.has_value());
  files.set_faults({.longest_delay = std::chrono::milliseconds(40)});
  const auto slow = probe->measure();
  ASSERT_TRUE(slow.has_value());
  for (const JointRates& rates : {*quick, *slow})
    for (const double rate : {rates.disk_alone, rates.disk_beside, rates.memory_alone, rates.memory_beside})
      EXPECT_GT(rate, 0);
  EXPECT_LT(slow->disk_alone, quick->disk_alone);
  EXPECT_LT(slow->disk_alone, 2 * 2 * 100'000 / 0.02);  // two readers of 20 ms a read, and room for chance
}

TEST(JointProbe, NamesAFileThatCannotBeRead) {
  test::MemoryFiles files(true, {.failing_reads = 1});
  files.add(test::random_bytes(50'000, 1));
  const auto rates = open({&files})->measure();
  ASSERT_FALSE(rates.has_value());
  EXPECT_NE(rates.error().what.find(files.path(0)), std::string::npos);
}

}  // namespace
}  // namespace sluice
