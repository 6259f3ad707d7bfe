// See bench_threads.h.
#include "base/bench_threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "base/median.h"
#include "base/seconds.h"
#include "base/thread_pool.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 9;
constexpr int kLittleSteps = 2'000;
constexpr int kChunks = 64, kChunkSteps = 20'000;  // a chunk of work takes some tens of microseconds

void busy_for(double seconds) {
  const Clock::time_point begin = Clock::now();
  while (seconds_since(begin) < seconds) {
  }
}

// A chain of dependent multiplications: it needs a processor and nothing else.
double work(int steps) {
  double x = 1;
  for (int step = 0; step < steps; ++step) x = x * 0.999'999 + 1e-9;
  return x;
}

// Microseconds of each loop over `chunks` pieces of a few microseconds.
Result<std::vector<double>> loop_times(ThreadPool& pool, int chunks, double idle_seconds, const CancelFlag* cancel) {
  // Without a pause many loops are timed at once, so that the clock is no part of the figure.
  const int loops = idle_seconds > 0 ? 1 : 50;
  const int samples = idle_seconds > 1e-3 ? 100 : 400;
  std::atomic<double> sink{0};
  std::vector<double> us;
  for (int sample = 0; sample < samples; ++sample) {
    TRY(unless_requested(cancel));
    busy_for(idle_seconds);
    const Clock::time_point begin = Clock::now();
    for (int loop = 0; loop < loops; ++loop)
      pool.parallel_ranges(chunks, 1, [&](int first, int last) {
        for (int chunk = first; chunk < last; ++chunk) sink = work(kLittleSteps);
      });
    us.push_back(seconds_since(begin) / loops * 1e6);
  }
  std::ranges::sort(us);
  return us;
}

// A piece for each thread takes as long as one piece alone, and what splitting costs.
Result<LoopCost> loop_cost(ThreadPool& alone, ThreadPool& pool, double idle_seconds, const CancelFlag* cancel) {
  TRY_TAKE(std::vector<double> pieces, loop_times(alone, 1, idle_seconds, cancel));
  TRY_TAKE(const std::vector<double> us, loop_times(pool, pool.threads(), idle_seconds, cancel));
  const double piece = median(std::move(pieces));
  return LoopCost{idle_seconds, us[us.size() / 2] - piece, us[us.size() * 99 / 100] - piece};
}

double seconds_of_work(ThreadPool& pool) {
  std::atomic<double> sink{0};
  const Clock::time_point begin = Clock::now();
  pool.parallel_ranges(kChunks, 1, [&](int first, int last) {
    for (int chunk = first; chunk < last; ++chunk) sink = work(kChunkSteps);
  });
  return seconds_since(begin);
}

}  // namespace

Result<ThreadBench> bench_threads(int threads, const CancelFlag* cancel) {
  ThreadPool alone(1), pool(threads);
  ThreadBench bench{.threads = threads, .loops = {}};
  for (const double idle : {0.0, 200e-6, 5e-3}) {
    TRY_TAKE(const LoopCost cost, loop_cost(alone, pool, idle, cancel));
    bench.loops.push_back(cost);
  }
  std::vector<double> speed, beside;
  for (int round = 0; round < kRounds; ++round) {
    TRY(unless_requested(cancel));
    const double one = seconds_of_work(alone);
    speed.push_back(one / seconds_of_work(pool));
    std::atomic<bool> end{false};
    std::thread neighbour([&] {
      while (!end.load(std::memory_order_relaxed)) {
      }
    });
    busy_for(5e-3);  // until the system has noticed it
    double total = 0;
    constexpr int kTimes = 10;  // longer than a scheduler's slice
    for (int time = 0; time < kTimes; ++time) total += seconds_of_work(pool);
    end = true;
    neighbour.join();
    beside.push_back(one / (total / kTimes));
  }
  bench.speed = median(speed);
  bench.speed_beside = median(beside);
  const int cpus = ThreadPool::usable_cpus();
  bench.fair_share = threads < cpus ? 1 : static_cast<double>(cpus) / (cpus + 1);
  return bench;
}

}  // namespace sluice
