// See memory_probe.h.
#include "residency/memory_probe.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <vector>

#include "base/seconds.h"
#include "formats/format.h"
#include "io/aligned.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kPart = std::uint64_t{1} << 20, kFewestBytes = 4 * kPart;
constexpr double kSeconds = 0.1;
constexpr int kMostPasses = 64;

// The best rate of passes over `bytes`: neighbours and page faults only make a pass slower.
template <class Pass>
double best_rate(std::uint64_t bytes, Pass pass) {
  const Clock::time_point begin = Clock::now();
  double fastest = 1e9;
  for (int count = 0; count < kMostPasses && (count == 0 || seconds_since(begin) < kSeconds); ++count) {
    const Clock::time_point start = Clock::now();
    pass();
    fastest = std::min(fastest, seconds_since(start));
  }
  return static_cast<double>(bytes) / std::max(fastest, 1e-9);
}

// Whole parts.
std::uint64_t buffer_bytes(std::uint64_t most_bytes) {
  return std::clamp(most_bytes, kFewestBytes, kProbeBytes) / kPart * kPart;
}

}  // namespace

double probe_memory(ThreadPool& pool, std::uint64_t most_bytes) {
  const PageArena memory = PageArena::if_possible(buffer_bytes(most_bytes));
  if (memory.size() == 0) return 0;
  std::memset(memory.data(), 1, memory.size());  // untouched pages would all be the same zero page
  const auto* words = reinterpret_cast<const std::uint64_t*>(memory.data());
  std::atomic<std::uint64_t> sum{0};
  const double rate = best_rate(memory.size(), [&] {
    pool.parallel_ranges(static_cast<int>(memory.size() / kPart), 1, [&](int begin, int end) {
      std::uint64_t part = 0;
      const auto first = static_cast<std::uint64_t>(begin) * kPart / sizeof *words,
                 last = static_cast<std::uint64_t>(end) * kPart / sizeof *words;
      for (std::uint64_t word = first; word < last; ++word) part += words[word];
      sum += part;
    });
  });
  return sum == 0 ? 0 : rate;
}

double probe_multiply(Ops& ops, FormatId id, std::uint64_t most_bytes) {
  constexpr int kCols = 4096;
  const Format& stored = format(id);
  const std::uint64_t row_bytes = stored.row_weight_bytes(kCols) + stored.scale_row_bytes(kCols);
  const Shape shape{static_cast<int>(buffer_bytes(most_bytes) / row_bytes), kCols};
  const PageArena weights = PageArena::if_possible(stored.weight_bytes(shape)),
                  scales = PageArena::if_possible(stored.scale_bytes(shape));
  if (weights.size() == 0 || scales.size() < stored.scale_bytes(shape)) return 0;
  std::memset(weights.data(), 0x3c, weights.size());  // an ordinary number in every format
  if (scales.size() > 0) std::memset(scales.data(), 0x3c, scales.size());
  std::vector<float> x(kCols, 1.0f), y(static_cast<std::size_t>(shape.rows));
  const Product products[] = {
      {{id, shape, weights.data(), scales.data()}, {x.data(), 1, kCols, kCols}, {y.data(), 1, shape.rows, shape.rows}}};
  return best_rate(stored.weight_bytes(shape) + stored.scale_bytes(shape), [&] { ops.matmul(products); });
}

}  // namespace sluice
