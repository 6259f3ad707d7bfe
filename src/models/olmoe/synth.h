// A random OLMoE: the released tensors, names and config at any number of layers, experts and widths.
//
// `full` has the released widths, so its shards together have the released bytes; `tiny` has widths that are no
// multiples of 32 and fewer heads of keys than of queries. Values are drawn so that activations stay near 1 and the
// router has favourites.
#pragma once

#include "checkpoint/synth.h"

namespace sluice::olmoe {

// bad_input if the options are impossible (no layer, no expert).
Result<SynthCheckpoint> synth_checkpoint(const SynthOptions& options);

}  // namespace sluice::olmoe
