// Tests of thread_pool.h and cpu_quota.h: every item exactly once whatever the threads, nothing stalls, quotas are
// read.
#include "base/thread_pool.h"
#include "base/seconds.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>
#include <vector>

#include "base/cpu_quota.h"

namespace sluice {
namespace {

using Clock = std::chrono::steady_clock;

TEST(ThreadPool, CoversEveryItemOnce) {
  for (int threads : {1, 2, 3, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int count : {0, 1, 2, 7, 64, 1000})
      for (int grain : {1, 2, 3, 64, 5000}) {
        std::vector<int> visits(
            static_cast<std::size_t>(count));  // not atomic: ranges must be disjoint (and tsan says)
        std::atomic<int> longest{0};
        pool.parallel_ranges(count, grain, [&](int begin, int end) {
          for (int i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
          int seen = longest.load();
          while (seen < end - begin && !longest.compare_exchange_weak(seen, end - begin)) {
          }
        });
        for (int count_of : visits) ASSERT_EQ(count_of, 1) << threads << " threads, " << count << " by " << grain;
        if (threads > 1) {
          ASSERT_LE(longest.load(), grain);
        }
      }
  }
}

// What a loop wrote must be visible to the caller, and what the caller wrote between loops to the bodies.
TEST(ThreadPool, LoopsAreOrderedWithTheirCaller) {
  ThreadPool pool(3);
  std::vector<long> values(257);
  long expected = 0;
  for (int loop = 0; loop < 2000; ++loop) {
    const int step = loop % 7;
    pool.parallel_ranges(257, 16, [&](int begin, int end) {
      for (int i = begin; i < end; ++i) values[static_cast<std::size_t>(i)] += step;
    });
    expected += step;
    ASSERT_EQ(std::accumulate(values.begin(), values.end(), 0L), 257 * expected);
  }
}

TEST(ThreadPool, MoreThreadsThanCpusDoNotStall) {
  ThreadPool pool(ThreadPool::usable_cpus() + 3);
  std::atomic<long> sum{0};
  const auto start = Clock::now();
  constexpr int kLoops = 100'000;
  for (int loop = 0; loop < kLoops; ++loop)
    pool.parallel_ranges(8, 1, [&](int begin, int end) { sum.fetch_add(end - begin, std::memory_order_relaxed); });
  EXPECT_EQ(sum.load(), 8L * kLoops);
  // A pool whose caller spins while its workers wait for the CPU needs milliseconds a loop: minutes in all.
  EXPECT_LT(seconds_since(start), 30);
}

// Two pools at once: each is the other's busy neighbour.
TEST(ThreadPool, BusyNeighboursDoNotStall) {
  const auto start = Clock::now();
  std::vector<std::thread> owners;
  std::atomic<long> sum{0};
  for (int owner = 0; owner < 2; ++owner)
    owners.emplace_back([&] {
      ThreadPool pool(ThreadPool::usable_cpus());
      for (int loop = 0; loop < 20'000; ++loop)
        pool.parallel_ranges(4, 1, [&](int begin, int end) { sum.fetch_add(end - begin, std::memory_order_relaxed); });
    });
  for (std::thread& owner : owners) owner.join();
  EXPECT_EQ(sum.load(), 2L * 4 * 20'000);
  EXPECT_LT(seconds_since(start), 30);
}

// Workers that have parked are woken, and do take part.
TEST(ThreadPool, ParkedWorkersComeBack) {
  ThreadPool pool(2);
  bool helped = false;
  for (int attempt = 0; attempt < 20 && !helped; ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<bool> other{false};
    pool.parallel_ranges(2, 1, [&](int, int) {  // the caller's chunk is long enough for the worker to wake
      if (std::this_thread::get_id() != caller) other = true;
      for (int wait = 0; wait < 200 && !other; ++wait) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    helped = other;
  }
  EXPECT_TRUE(helped);
}

// Two bodies that run at the same time never have the same index: what scratch memory per thread relies on.
TEST(ThreadPool, ThreadIndicesAreApart) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> inside(4);
  for (int loop = 0; loop < 200; ++loop)
    pool.parallel_ranges(64, 1, [&](int, int) {
      const int index = ThreadPool::thread_index();
      ASSERT_TRUE(index >= 0 && index < 4);
      ASSERT_EQ(inside[static_cast<std::size_t>(index)].fetch_add(1), 0);
      std::this_thread::yield();
      inside[static_cast<std::size_t>(index)].fetch_sub(1);
    });
  EXPECT_EQ(ThreadPool::thread_index(), 0);
}

TEST(ThreadPool, UsableCpusAreAtLeastOneAndWithinTheMask) {
  EXPECT_GE(ThreadPool::usable_cpus(), 1);
  EXPECT_LE(ThreadPool::usable_cpus(), static_cast<int>(::sysconf(_SC_NPROCESSORS_CONF)));
}

class CpuQuota : public ::testing::Test {
 protected:
  CpuQuota() : mount_(std::filesystem::temp_directory_path() / ("sluice_quota_" + std::to_string(::getpid()))) {}
  ~CpuQuota() override { std::filesystem::remove_all(mount_); }
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((mount_ / path).parent_path());
    std::ofstream(mount_ / path) << text;
  }
  std::optional<double> quota(std::string_view groups) const { return cpu_quota(groups, mount_.string()); }

 private:
  std::filesystem::path mount_;
};

TEST_F(CpuQuota, SmallestOfTheGroupAndThoseAboveIt) {
  write("a/b/cpu.max", "300000 100000\n");
  write("a/cpu.max", "150000 100000\n");
  write("cpu.max", "max 100000\n");
  EXPECT_EQ(quota("0::/a/b\n"), 1.5);
  write("a/cpu.max", "max 100000\n");
  EXPECT_EQ(quota("0::/a/b\n"), 3.0);
  EXPECT_EQ(quota("0::/\n"), std::nullopt);
  write("cpu.max", "50000 100000\n");
  EXPECT_EQ(quota("0::/\n"), 0.5);
}

TEST_F(CpuQuota, VersionOneAndNoneAtAll) {
  EXPECT_EQ(quota("4:memory:/x\n1:cpu,cpuacct:/x\n0::/\n"), std::nullopt);
  write("cpu,cpuacct/x/cpu.cfs_quota_us", "250000\n");
  write("cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota("4:memory:/x\n1:cpu,cpuacct:/x\n0::/\n"), 2.5);
  EXPECT_EQ(quota("3:cpuset:/x\n"), std::nullopt);  // another controller, though its name begins alike
  write("cpu,cpuacct/x/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(quota("1:cpu,cpuacct:/x\n"), std::nullopt);
  EXPECT_EQ(quota(""), std::nullopt);
  EXPECT_EQ(quota("nonsense"), std::nullopt);
}

}  // namespace
}  // namespace sluice
