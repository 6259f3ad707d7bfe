// What the machine reads and multiplies at most, by sluice's best probes, and how time is taken.
#pragma once

#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <vector>

#include "base/median.h"
#include "base/processor_time.h"
#include "base/thread_pool.h"
#include "compute/kernel_table.h"
#include "io/aligned.h"

namespace peer {

using namespace sluice;

// Processor time is that of all threads over their number.
struct Seconds {
  double processor = 0, clock = 0;
};
inline Seconds seconds_of(int threads, const std::function<void()>& work) {
  const double processor = processor_seconds();
  const auto begin = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return {(processor_seconds() - processor) / threads, took.count()};
}

// What the machine reads and multiplies at most, by sluice's best probes.
class Yardsticks {
 public:
  Yardsticks(ThreadPool& pool) : pool_(pool), memory_(200ull << 20) {
    ::madvise(memory_.data(), memory_.size(), MADV_HUGEPAGE);
    std::memset(memory_.data(), 1, memory_.size());
    double best = 0;
    int chosen = streams_;
    for (int streams : {4, 8, 16}) {
      streams_ = streams;
      std::vector<double> rates;
      for (int repeat = 0; repeat < 5; ++repeat) rates.push_back(read_rate());
      if (median(rates) > best) best = median(rates), chosen = streams;
    }
    streams_ = chosen;
    reads.clear();
  }
  double read_rate() {
    const int chunks = static_cast<int>(memory_.size() / kChunk);
    return rate(reads, chunks, static_cast<double>(memory_.size()) / 1e9, [&](int chunk) {
      const std::byte* const at = memory_.data() + static_cast<std::uint64_t>(chunk) * kChunk;
      return best_kernels().read_probe(reinterpret_cast<const std::uint8_t*>(at), kChunk, streams_);
    });
  }
  double fma_rate() {
    constexpr int kTasks = 64, kSteps = 8000;
    return rate(fmas, kTasks, 0.5 * kTasks * kSteps * best_kernels().fma_probe_flops / 1e9,
                [](int) { return best_kernels().fma_probe(kSteps); });
  }
  std::vector<double> reads, fmas;  // GB/s; 10^9 multiply-adds a second

 private:
  double rate(std::vector<double>& rates, int tasks, double amount, const std::function<float(int)>& task) {
    std::vector<float> results(static_cast<std::size_t>(tasks));
    const Seconds spent = seconds_of(pool_.threads(), [&] {
      pool_.parallel_ranges(tasks, 1, [&](int first, int last) {
        for (int i = first; i < last; ++i) results[static_cast<std::size_t>(i)] = task(i);
      });
    });
    for (float result : results) sink_ = sink_ + result;
    rates.push_back(amount / spent.processor);
    return rates.back();
  }

  static constexpr std::uint64_t kChunk = 1 << 20;

  ThreadPool& pool_;
  PageArena memory_;
  int streams_ = 16;
  volatile float sink_ = 0;
};

}  // namespace peer
