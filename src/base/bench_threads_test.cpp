// What `bench threads` measures is looked at by its end-to-end test; here, that it stops.
#include "base/bench_threads.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(BenchThreads, StopsWhenItIsCancelled) {
  CancelFlag cancel;
  cancel.request();
  const auto bench = bench_threads(2, &cancel);
  ASSERT_FALSE(bench.has_value());
  EXPECT_EQ(bench.error().kind, ErrorKind::cancelled);
}

}  // namespace
}  // namespace sluice
