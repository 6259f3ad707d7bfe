// See kernel_table.h. A new instruction set is a unit in kernels/ and a row here.
#include "compute/kernel_table.h"

#include <chrono>
#include <vector>

#include "base/median.h"

namespace sluice {

namespace {

std::vector<const KernelTable*> detect() {
  std::vector<const KernelTable*> found = {&kScalarKernels};
#if defined(__x86_64__)
  // The builtin looks at CPUID and, through XGETBV, at what the operating system saves.
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.push_back(&kAvx2Kernels);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    found.push_back(&kAvx512Kernels);
    if (__builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vnni"))
      found.push_back(&kAvx512VbmiKernels);
  }
#elif defined(__aarch64__)
  found.push_back(&kNeonKernels);
#endif
  return found;
}

#if defined(__x86_64__)
double probe_seconds(const KernelTable& kernels) {
  constexpr int kSteps = 1000;
  const auto start = std::chrono::steady_clock::now();
  volatile float kept = kernels.fma_probe(kSteps);
  static_cast<void>(kept);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Every processor with AVX-512 starts two of 256 bits a cycle, so one of 512 bits would be as fast. In pairs, after a
// while of wide ones: a core changes its clock for them.
bool measure_two_fmas() {
  if (find_kernels(kAvx512Kernels.name) == nullptr) return false;
  for (double warm = 0; warm < 1e-4;) warm += probe_seconds(kAvx512Kernels);
  std::vector<double> ratios(9);
  for (double& ratio : ratios) ratio = probe_seconds(kAvx2Kernels) / probe_seconds(kAvx512Kernels);
  return median(ratios) * kAvx512Kernels.fma_probe_flops / kAvx2Kernels.fma_probe_flops > 1.4;
}
#endif

}  // namespace

bool two_fmas_a_cycle() {
#if defined(__x86_64__)
  static const bool two = measure_two_fmas();
  return two;
#else
  return false;
#endif
}

std::span<const KernelTable* const> supported_kernels() {
  static const std::vector<const KernelTable*> found = detect();
  return found;
}

const KernelTable& best_kernels() { return *supported_kernels().back(); }

const KernelTable* find_kernels(std::string_view name) {
  if (name == "auto") return &best_kernels();
  for (const KernelTable* kernels : supported_kernels())
    if (name == kernels->name) return kernels;
  return nullptr;
}

}  // namespace sluice
