// The kernel sets that this machine can run. Chosen once, at start; every one of them gives the same bits.
#pragma once

#include <span>
#include <string_view>

#include "compute/kernels/table.h"

namespace sluice {

// From slowest to fastest; the scalar set is always there. Asks the processor, and the system whether it saves the
// wide registers.
std::span<const KernelTable* const> supported_kernels();
const KernelTable& best_kernels();
// Whether a core starts two multiply-adds of 512 bits a cycle (most of Intel's servers) or one (Zen 4): measured
// once, in a quarter of a millisecond. False where there are none. It tells which of two ways is faster; both give the
// same bits.
bool two_fmas_a_cycle();
// By the name that --isa takes ("auto": the best); null if there is no such set or this machine cannot run it.
const KernelTable* find_kernels(std::string_view name);

}  // namespace sluice
