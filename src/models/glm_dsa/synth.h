// A random GLM-5.2: the released tensors, names and config at any number of layers, experts and widths, the draft head
// among them.
//
// `full` has the released widths in bf16, so its shards together have the released bytes; `tiny` has widths that differ
// wherever a mistake could hide behind equal ones, and an index_topk that a short prompt passes. Values are drawn so
// that activations stay near 1 and the router's bias reorders.
#pragma once

#include "checkpoint/synth.h"

namespace sluice::glm_dsa {

// bad_input if the options are impossible (no layer, no expert).
Result<SynthCheckpoint> synth_checkpoint(const SynthOptions& options);

}  // namespace sluice::glm_dsa
