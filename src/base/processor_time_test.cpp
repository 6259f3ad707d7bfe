// Tests of processor_time.h.
#include "base/processor_time.h"

#include <gtest/gtest.h>
#include <time.h>

#include <atomic>
#include <thread>

namespace sluice {
namespace {

double own_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

TEST(ProcessorTime, CountsWhatAnotherThreadHasUsedUpToNow) {
  std::atomic<double> used{0};
  std::atomic<bool> stop{false};
  std::thread worker([&] {
    while (!stop) used = own_seconds();
  });
  while (used == 0) std::this_thread::yield();
  for (int look = 0; look < 200; ++look) {
    const double least = used + own_seconds();
    EXPECT_GE(processor_seconds(), least);
  }
  stop = true;
  worker.join();
}

}  // namespace
}  // namespace sluice
