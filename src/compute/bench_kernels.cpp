// See bench_kernels.h.
#include "compute/bench_kernels.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>

#include "base/counter_random.h"
#include "base/median.h"
#include "base/processor_time.h"
#include "base/thread_pool.h"
#include "compute/cpu_ops.h"
#include "formats/format.h"
#include "io/aligned.h"

namespace sluice {

namespace {

constexpr int kSandwiches = 7;
constexpr std::uint64_t kChunk = 1 << 20;  // of the read yardstick

struct BenchShape {
  FormatId format;
  int outs, cols;
};
// A projection of Kimi K3's trunk and an expert's gate, a shared expert of DeepSeek-V4, an expert of GLM-5.2, and sizes
// between.
constexpr BenchShape kShapes[] = {
    {FormatId::bf16, 12288, 7168}, {FormatId::mxfp4, 3072, 3584},   {FormatId::fp8_e8m0, 3072, 7168},
    {FormatId::fp8, 2048, 6144},   {FormatId::int8, 2048, 6144},    {FormatId::int4g64, 2048, 6144},
    {FormatId::int4, 2048, 6144},  {FormatId::int4g32, 2048, 6144}, {FormatId::int4g128, 2048, 6144},
    {FormatId::f16, 4096, 7168},   {FormatId::f32, 4096, 7168}};

// One arena of numbers that are plausible in every format, and the vectors.
class Bench {
 public:
  Bench(const KernelBenchOptions& options)
      : pool_(options.threads),
        best_(best_kernels()),
        weights_(PageArena::if_possible(options.weight_bytes)),
        small_scales_(PageArena::if_possible(options.weight_bytes / 16)),
        wide_scales_(PageArena::if_possible(options.weight_bytes / 4)) {}

  bool has_memory() const { return weights_.size() > 0 && small_scales_.size() > 0 && wide_scales_.size() > 0; }
  void fill();
  void choose_streams();
  KernelBenchEntry measure(const KernelTable& kernels, const BenchShape& shape, int rows, Numerics numerics);
  double read_gb_per_s() const { return median(reads_); }
  double fma_gflop_per_s() const { return median(fmas_); }

 private:
  WeightView weight(const BenchShape& shape, std::uint64_t index) const;
  double read_rate(std::uint64_t bytes);
  double fma_rate();
  double seconds_of(FunctionRef<void()> work);
  double error_of(CpuOps& ops, const BenchShape& shape, Rows x) const;

  ThreadPool pool_;
  const KernelTable& best_;
  PageArena weights_, small_scales_, wide_scales_;  // E8M0, at most 1/16 of the weights; fp32, at most 1/4
  int streams_ = 16;                                // of the read yardstick
  std::vector<double> reads_, fmas_;
  float sink_ = 0;
};

void Bench::fill() {
  ::madvise(weights_.data(), weights_.size(), MADV_HUGEPAGE);  // both kernels and yardstick gain
  const auto words = weights_.size() / 8, per_task = std::uint64_t{1} << 17;
  pool_.parallel_ranges(static_cast<int>(words / per_task), 1, [&](int first, int last) {
    auto* const at = reinterpret_cast<std::uint64_t*>(weights_.data());
    for (int task = first; task < last; ++task) {
      SplitMix64 random{static_cast<std::uint64_t>(task)};
      const std::uint64_t begin = static_cast<std::uint64_t>(task) * per_task;
      // As bf16 (and so as the upper halves of f32): either sign, 2^-8 to 2^-1, nearly any mantissa. As E4M3: no NaN.
      for (std::uint64_t i = begin; i < begin + per_task; ++i)
        at[i] = (random() & 0x83f783f783f783f7u) | 0x3c003c003c003c00u;
    }
  });
  SplitMix64 random;
  for (std::byte& scale : small_scales_.slice(0, small_scales_.size()))
    scale = static_cast<std::byte>(118 + random() % 8);
  for (std::uint64_t at = 0; at < wide_scales_.size(); at += 4)
    store_f32(wide_scales_.data() + at, 0x1p-10f + static_cast<float>(random() >> 40) * 0x1p-33f);
}

WeightView Bench::weight(const BenchShape& shape, std::uint64_t index) const {
  const Format& as = format(shape.format);
  const Shape size = {shape.outs, shape.cols};
  const PageArena& scales = as.scales == ScaleKind::f32 ? wide_scales_ : small_scales_;
  return {shape.format, size, weights_.data() + index * as.weight_bytes(size),
          as.scales != ScaleKind::none ? scales.data() + index * as.scale_bytes(size) : nullptr};
}

// Processor time of a thread: see the header.
double Bench::seconds_of(FunctionRef<void()> work) {
  const double start = processor_seconds();
  work();
  return (processor_seconds() - start) / pool_.threads();
}

double Bench::read_rate(std::uint64_t bytes) {
  const int chunks = static_cast<int>(std::min(bytes, weights_.size()) / kChunk);
  std::vector<float> results(static_cast<std::size_t>(chunks));
  const double seconds = seconds_of([&] {
    pool_.parallel_ranges(chunks, 1, [&](int first, int last) {
      for (int chunk = first; chunk < last; ++chunk)
        results[static_cast<std::size_t>(chunk)] = best_.read_probe(
            reinterpret_cast<const std::uint8_t*>(weights_.data()) + static_cast<std::uint64_t>(chunk) * kChunk, kChunk,
            streams_);
    });
  });
  for (float result : results) sink_ += result;
  reads_.push_back(static_cast<double>(chunks) * kChunk / seconds / 1e9);
  return reads_.back();
}

// The pattern that reads fastest here.
void Bench::choose_streams() {
  double best = 0;
  int chosen = streams_;
  for (int streams : {4, 8, 16}) {
    streams_ = streams;
    std::vector<double> rates;
    for (int repeat = 0; repeat < 5; ++repeat) rates.push_back(read_rate(200u << 20));
    if (median(rates) > best) {
      best = median(rates);
      chosen = streams;
    }
  }
  streams_ = chosen;
  reads_.clear();
}

double Bench::fma_rate() {
  constexpr int kTasks = 64, kSteps = 20000;
  std::vector<float> results(kTasks);
  const double seconds = seconds_of([&] {
    pool_.parallel_ranges(kTasks, 1, [&](int first, int last) {
      for (int task = first; task < last; ++task) results[static_cast<std::size_t>(task)] = best_.fma_probe(kSteps);
    });
  });
  for (float result : results) sink_ += result;
  fmas_.push_back(1.0 * kTasks * kSteps * best_.fma_probe_flops / seconds / 1e9);
  return fmas_.back();
}

// Of a few output rows of the first weight.
double Bench::error_of(CpuOps& ops, const BenchShape& shape, Rows x) const {
  constexpr int kOuts = 256;
  const WeightView w = weight(shape, 0).row_slice(0, kOuts);
  std::vector<float> values(static_cast<std::size_t>(x.rows) * kOuts), decoded(static_cast<std::size_t>(shape.cols));
  const Rows y{values.data(), x.rows, kOuts, kOuts};
  const Product product{w, x, y};
  ops.matmul({&product, 1});
  double largest = 0, squares = 0;
  for (int out = 0; out < kOuts; ++out) {
    format(shape.format).decode_row(w, out, decoded);
    for (int row = 0; row < x.rows; ++row) {
      double exact = 0;
      for (std::size_t k = 0; k < decoded.size(); ++k)
        exact += static_cast<double>(decoded[k]) * static_cast<double>(x[row][k]);
      largest = std::max(largest, std::fabs(static_cast<double>(y[row][static_cast<std::size_t>(out)]) - exact));
      squares += exact * exact;
    }
  }
  return largest / std::sqrt(squares / (1.0 * kOuts * x.rows));
}

KernelBenchEntry Bench::measure(const KernelTable& kernels, const BenchShape& shape, int rows, Numerics numerics) {
  const Format& as = format(shape.format);
  BenchShape used = shape;
  if (rows > 8) used.outs = std::min(shape.outs, 2048);  // enough for a steady time
  const Shape size = {used.outs, used.cols};
  const std::uint64_t bytes = as.weight_bytes(size) + as.scale_bytes(size);
  CpuOps ops(pool_, kernels, {rows, used.cols, numerics}), exact(pool_, kernels, {rows, used.cols});
  std::vector<float> in(static_cast<std::size_t>(rows) * static_cast<std::size_t>(used.cols));
  std::vector<float> out(static_cast<std::size_t>(rows) * static_cast<std::size_t>(used.outs));
  SplitMix64 random;
  for (float& value : in) value = static_cast<float>(static_cast<std::int64_t>(random())) * 0x1p-63f;
  const Rows x{in.data(), rows, used.cols, used.cols}, y{out.data(), rows, used.outs, used.outs};

  // One row: a large stretch of memory a timing. Many rows: as much arithmetic as takes a while.
  const std::uint64_t room = weights_.size() / as.weight_bytes(size);
  const double flops = 2.0 * rows * used.outs * used.cols;
  const bool slow = &kernels == &kScalarKernels;
  const auto wanted = static_cast<std::uint64_t>(
      std::max(1.0, std::min((slow ? 3e7 : 2.5e8) / static_cast<double>(bytes), (slow ? 2e8 : 4e9) / flops)));
  const std::uint64_t count = std::min(room, wanted);
  std::uint64_t next = 0;
  const auto passes = [&](CpuOps& by) {
    return seconds_of([&] {
      for (std::uint64_t i = 0; i < count; ++i, next = (next + 1) % room) {
        const Product product{weight(used, next), x, y};
        by.matmul({&product, 1});
      }
    });
  };
  std::vector<double> speeds, read_ratios, fma_ratios, exact_ratios;
  double read = read_rate(200u << 20), fma = fma_rate();
  for (int repeat = 0; repeat < (slow ? 3 : kSandwiches); ++repeat) {
    if (numerics != Numerics::exact) exact_ratios.push_back(passes(exact));
    const double seconds = passes(ops);
    if (numerics != Numerics::exact) exact_ratios.back() /= seconds;
    const double read_after = read_rate(200u << 20), fma_after = fma_rate();
    speeds.push_back(static_cast<double>(count) / seconds);
    read_ratios.push_back(speeds.back() * static_cast<double>(bytes) / 1e9 / ((read + read_after) / 2));
    fma_ratios.push_back(speeds.back() * flops / 1e9 / ((fma + fma_after) / 2));
    read = read_after;
    fma = fma_after;
  }
  const double speed = median(speeds);
  return {.format = std::string(as.name),
          .isa = kernels.name,
          .numerics = numerics,
          .rows = rows,
          .outs = used.outs,
          .cols = used.cols,
          .gb_per_s = speed * static_cast<double>(bytes) / 1e9,
          .bandwidth_ratio = median(read_ratios),
          .gflop_per_s = speed * flops / 1e9,
          .peak_ratio = median(fma_ratios),
          .against_exact = exact_ratios.empty() ? 0 : median(exact_ratios),
          .rel_error = error_of(ops, used, x)};
}

}  // namespace

Result<KernelBench> bench_kernels(const KernelBenchOptions& options,
                                  FunctionRef<void(const KernelBenchEntry&)> measured) {
  Bench bench(options);
  if (!bench.has_memory())
    return fail(ErrorKind::refused, "bench kernels: no memory for its weights", "It needs about 1 GiB.");
  bench.fill();
  bench.choose_streams();
  const std::vector<int> row_counts =
      options.full ? std::vector<int>{1, 2, 4, 8, 16, 64, 256} : std::vector<int>{1, 4, 64};
  KernelBench result;
  result.threads = options.threads;
  const auto wanted = [](const std::string& only, std::string_view name) { return only.empty() || only == name; };
  for (const BenchShape& shape : kShapes)
    for (const KernelTable* kernels : supported_kernels())
      for (int rows : row_counts) {
        if (!wanted(options.format, format(shape.format).name) || !wanted(options.isa, kernels->name)) continue;
        if (kernels == &kScalarKernels && rows > 1 && !options.full) continue;
        if (options.cancel != nullptr && options.cancel->requested())
          return fail(ErrorKind::cancelled, "bench kernels: interrupted");
        for (const Numerics numerics : {Numerics::exact, Numerics::fast}) {
          if (numerics == Numerics::exact ? !options.exact : !options.fast || fast_format(shape.format) == nullptr)
            continue;
          result.entries.push_back(bench.measure(*kernels, shape, rows, numerics));
          measured(result.entries.back());
        }
      }
  result.read_gb_per_s = bench.read_gb_per_s();
  result.fma_gflop_per_s = bench.fma_gflop_per_s();
  result.two_fmas = two_fmas_a_cycle();
  return result;
}

}  // namespace sluice
