// See kernel_table.h. A new instruction set is a unit in kernels/ and a row here.
#include "compute/kernel_table.h"

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

}  // namespace

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
