// What splitting a loop over threads costs, and what it keeps while others use the machine.
//
// A token of a large model is thousands of loops, most of them short, so a loop must begin and end within a
// microsecond, and one slow thread may not hold the others. Everything is measured against the same work in the same
// minute.
#pragma once

#include <vector>

#include "base/cancel.h"

namespace sluice {

struct LoopCost {
  double idle_seconds = 0;           // that the caller computes alone between two loops
  double median_us = 0, p99_us = 0;  // that a loop takes longer than the piece of each of its threads
};

struct ThreadBench {
  int threads = 0;
  std::vector<LoopCost> loops;
  // How often the work is done in the time that one thread alone takes for it: at best, `threads`.
  double speed = 0;
  // The same beside one thread of somebody else that never rests, and the share of `speed` that is left to us then if
  // the system divides its processors fairly.
  double speed_beside = 0, fair_share = 0;
};

// Requires: threads >= 1. Takes a few seconds. Fails if it is cancelled meanwhile.
Result<ThreadBench> bench_threads(int threads, const CancelFlag* cancel);

}  // namespace sluice
