// See kernel_table.h. A new instruction set is a unit in kernels/ and a row here.
#include "compute/kernel_table.h"

#include <algorithm>
#include <chrono>
#include <vector>

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
double seconds_of_fmas(const KernelTable& kernels) {
  constexpr int kSteps = 1000;
  const auto start = std::chrono::steady_clock::now();
  volatile float kept = kernels.fma_probe(kSteps);
  static_cast<void>(kept);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / kernels.fma_probe_flops;
}

// Every processor with AVX-512 starts two of 256 bits a cycle, so one of 512 bits would be as fast.
bool measure_two_fmas() {
  if (find_kernels(kAvx512Kernels.name) == nullptr) return false;
  double narrow = 1, wide = 1;
  for (int repeat = 0; repeat < 8; ++repeat) {  // the least: a core takes a while to get ready for wide registers
    narrow = std::min(narrow, seconds_of_fmas(kAvx2Kernels));
    wide = std::min(wide, seconds_of_fmas(kAvx512Kernels));
  }
  return wide < narrow / 1.4;
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
