// Tests of processor_time.h.
#include "base/processor_time.h"

#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "support/temp_dir.h"

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

TEST(ProcessorTime, WhatTheHostTookIsTheEighthFigureOfAllProcessors) {
  const test::TempDir folder;
  const std::string path = (folder / "stat").string();
  const auto stolen = [&](const std::string& text) {
    std::ofstream(path) << text;
    return stolen_seconds(path) * static_cast<double>(::sysconf(_SC_CLK_TCK));
  };
  EXPECT_EQ(stolen("cpu  1 2 3 4 5 6 7 80 9 10\ncpu0 1 2 3 4 5 6 7 40 9 10\n"), 80);
  EXPECT_EQ(stolen("cpu  1 2 3 4\n"), 0);  // of a kernel that does not tell
  EXPECT_EQ(stolen("intr 1 2 3 4 5 6 7 8 9\n"), 0);
  EXPECT_EQ(stolen_seconds((folder / "nothing").string()), 0);
}

}  // namespace
}  // namespace sluice
