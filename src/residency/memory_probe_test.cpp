// Rates that a machine can have.
#include "residency/memory_probe.h"

#include <gtest/gtest.h>

#include "compute/cpu_ops.h"
#include "formats/format.h"

namespace sluice {
namespace {

TEST(MemoryProbe, GivesPlausibleRates) {
  ThreadPool pool(2);
  const double memory = probe_memory(pool);
  EXPECT_GT(memory, 1e8);
  EXPECT_LT(memory, 1e13);
  CpuOps ops(pool, best_kernels(), {.rows = 1, .width = 4096});
  for (const Format* stored : formats()) {
    const double rate = probe_multiply(ops, stored->id);
    EXPECT_GT(rate, 1e6) << stored->name;
    EXPECT_LT(rate, 1e13) << stored->name;
  }
}

// Where there is less room the figures come from less, not from nothing.
TEST(MemoryProbe, AFewBytesAreEnough) {
  ThreadPool pool(2);
  CpuOps ops(pool, best_kernels(), {.rows = 1, .width = 4096});
  for (const std::uint64_t most : {std::uint64_t{0}, std::uint64_t{5} << 20}) {
    EXPECT_GT(probe_memory(pool, most), 1e8);
    EXPECT_GT(probe_multiply(ops, FormatId::bf16, most), 1e6);
  }
}

}  // namespace
}  // namespace sluice
