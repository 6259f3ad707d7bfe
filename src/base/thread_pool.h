// Splits one loop over the CPUs this process may use.
//
// A loop over `count` items is cut into chunks of `grain` items that threads take in turn, so that a slow or
// descheduled thread does not hold the others for a scheduler slice. Results never depend on the cut: an item writes
// only its own output and no sum crosses threads. Idle workers spin briefly, then park; more threads than CPUs is
// slower, never wrong. One loop runs at a time: parallel_ranges is called from the thread that made the pool, and not
// from inside a body.
#pragma once

#include <memory>

#include "base/function_ref.h"

namespace sluice {

class ThreadPool {
 public:
  // Requires: threads >= 1. `threads` counts the caller: threads - 1 workers are started.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;
  // Calls body(begin, end) for disjoint ranges that cover [0, count); returns when all are done. Requires: grain >= 1.
  void parallel_ranges(int count, int grain, FunctionRef<void(int begin, int end)> body);

  // Which thread of its pool calls: 0 for the thread that made the pool (and any other), 1 .. threads - 1 for workers.
  static int thread_index();

  // CPUs this process may use now (affinity mask and cgroup quota, at least 1).
  static int usable_cpus();

 private:
  struct Team;
  std::unique_ptr<Team> team_;
};

}  // namespace sluice
