// A random DeepSeek-V4: the released tensors, types, names and config at any number of layers, experts and widths, the
// MTP block among them.
//
// `full` has the released widths of Flash or of Pro, so its shards together have the released bytes; `tiny` has widths
// that differ wherever a mistake could hide behind equal ones, every kind of layer, and an index_topk that a short
// prompt passes. Values are drawn so that activations stay near 1.
#pragma once

#include "checkpoint/synth.h"

namespace sluice::deepseek_v4 {

// Flash. bad_input if the options are impossible (no layer, no expert; all releases keep matrices in FP8 anyway).
Result<SynthCheckpoint> synth_checkpoint(const SynthOptions& options);
// The same of Pro.
Result<SynthCheckpoint> synth_pro_checkpoint(const SynthOptions& options);

}  // namespace sluice::deepseek_v4
