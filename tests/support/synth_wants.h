// What a random checkpoint holds, against what its family asks of it.
#pragma once

#include <cstdint>

#include "checkpoint/block.h"
#include "checkpoint/synth.h"

namespace sluice::test {

struct SynthTotals {
  std::uint64_t tensors = 0, bytes = 0;
};
SynthTotals synth_totals(const SynthCheckpoint& checkpoint);

// Each tensor that the census wants is there whole, packed ones with their scales, and none besides but ignored ones.
void expect_what_is_wanted(const SynthCheckpoint& checkpoint, const Census& wanted);

}  // namespace sluice::test
