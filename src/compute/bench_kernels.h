// Measures every product kernel against what the machine can do, in the same minute.
//
// Speeds of a shared or throttled machine drift by a factor of two, so each timing stands between two readings of the
// yardsticks (best read bandwidth, most fused multiply-adds, each of the best instruction set, by as many threads) and
// a ratio is the median over such sandwiches. Time is processor time over the number of threads: on an idle machine
// that is time by the clock (waiting threads spin), and beside busy neighbours it still says what the kernels do.
// Weights are larger than every cache and each byte is used once a pass.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "compute/fast_format.h"

namespace sluice {

struct KernelBenchOptions {
  int threads = 1;
  std::string format, isa;                    // only these; empty: all
  bool exact = true, fast = false;            // whose products; fast ones only of formats that have them
  bool full = false;                          // more row counts, and the scalar set for all of them
  std::uint64_t weight_bytes = 768ull << 20;  // of memory for weights
  const CancelFlag* cancel = nullptr;
};

struct KernelBenchEntry {
  std::string format, isa;
  Numerics numerics = Numerics::exact;
  int rows = 0, outs = 0, cols = 0;  // vectors; shape of the weight
  double gb_per_s = 0;               // 10^9 bytes of weights and scales a second, median
  double bandwidth_ratio = 0;        // of the read bandwidth
  double gflop_per_s = 0;
  double peak_ratio = 0;     // of the multiply-add peak
  double against_exact = 0;  // times the speed of the exact product, in turns with it; 0: this is the exact one
  double rel_error = 0;      // largest |y - y64| against the root mean square of y64
};

struct KernelBench {
  int threads = 0;
  double read_gb_per_s = 0, fma_gflop_per_s = 0;  // medians of the yardsticks
  bool two_fmas = false;                          // see two_fmas_a_cycle
  std::vector<KernelBenchEntry> entries;
};

Result<KernelBench> bench_kernels(const KernelBenchOptions& options,
                                  FunctionRef<void(const KernelBenchEntry&)> measured);

}  // namespace sluice
