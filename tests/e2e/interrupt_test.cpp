// Ctrl-C where a command measures: it ends with 130 and one line, whatever it was about to measure next.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "support/failing_reads.h"
#include "support/sluice_program.h"

namespace sluice::test {
namespace {

void expect_interrupted(const Outcome& outcome) {
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "sluice: interrupted\n");
}

TEST(Interrupt, EndsPlanAndDoctorWhereTheyRead) {
  for (const char* command : {"plan", "doctor"})
    for (const int read : {0, 10}) {  // of a header; by the probe of the disk
      SCOPED_TRACE(testing::Message() << command << " at read " << read);
      const FailingReads order(demo_model().string(), read, "interrupt");
      expect_interrupted(sluice({command, demo_model().string()}));
    }
}

TEST(Interrupt, EndsBenchThreads) {
  Outcome outcome;
  for (const int wait_ms : {200, 1000, 4000}) {  // until it has begun: before, the signal simply ends it
    RunningProgram program(sluice_path(), {"bench", "threads", "--threads", "64"});
    std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
    program.send(SIGINT);
    outcome = program.finish();
    if (!outcome.err.empty()) break;
  }
  expect_interrupted(outcome);
}

}  // namespace
}  // namespace sluice::test
