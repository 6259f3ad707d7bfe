// Tests of read_ahead_governor.h.
#include "engine/read_ahead_governor.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

// Steps that compute for `computed` seconds, wait for `waited`, and keep the disk busy for `busy`.
bool after(ReadAheadGovernor& governor, double computed, double waited, double busy, int steps = 2) {
  for (int step = 0; step < steps; ++step) governor.step(computed + waited, busy, waited);
  return governor.reads_named();
}

TEST(ReadAheadGovernor, ReadsEarlyWhereTheDiskWouldBeIdle) {
  ReadAheadGovernor governor;
  EXPECT_FALSE(governor.reads_named());
  EXPECT_FALSE(after(governor, 0.1, 0.05, 0.09, 1));  // too early to tell
  EXPECT_TRUE(after(governor, 0.1, 0.05, 0.09, 1));
  EXPECT_TRUE(after(governor, 0.1, 0.01, 0.11));
}

TEST(ReadAheadGovernor, DoesNotWhereTheDiskIsTheBottleneckOrAtRest) {
  for (const double busy : {0.0, 0.005, 0.17, 0.5, 5.0}) {
    ReadAheadGovernor governor;
    EXPECT_FALSE(after(governor, 0.1, busy, busy)) << busy;
  }
}

TEST(ReadAheadGovernor, KeepsToItsDecisionNearTheBounds) {
  ReadAheadGovernor governor;
  EXPECT_FALSE(after(governor, 0.1, 0.15, 0.19));
  EXPECT_TRUE(after(governor, 0.1, 0.1, 0.15));
  EXPECT_TRUE(after(governor, 0.1, 0.15, 0.19));  // wrong names are read, too
  EXPECT_FALSE(after(governor, 0.1, 0.2, 0.23));
  EXPECT_FALSE(after(governor, 0.1, 0.15, 0.19));
  EXPECT_TRUE(after(governor, 0.1, 0.0, 0.05));
  EXPECT_TRUE(after(governor, 0.1, 0.0, 0.007));
  EXPECT_FALSE(after(governor, 0.1, 0.0, 0.004));
}

TEST(ReadAheadGovernor, LeavesShortStepsAlone) {
  ReadAheadGovernor governor;
  EXPECT_FALSE(after(governor, 0.004, 0.004, 0.004, 400));
  EXPECT_TRUE(after(governor, 0.1, 0.05, 0.09));
  EXPECT_FALSE(after(governor, 0.004, 0.004, 0.004));
}

}  // namespace
}  // namespace sluice
