// A random Kimi K3: the released tensors, names, order and config at any number of layers, experts and widths.
//
// `full` has the released widths, so its shards have the released sizes; `tiny` keeps every inequality between
// dimensions that a mistake could hide behind (spec section 9.1) at widths that a test can afford. Values are drawn so
// that activations stay near 1 and every part of the pass matters: both SiTU caps engage, the router's bias reorders,
// decays spread over the heads (spec section 9.3).
#pragma once

#include "checkpoint/synth.h"

namespace sluice::kimi_k3 {

// bad_input if the options are impossible (no layer, no expert).
Result<SynthCheckpoint> synth_checkpoint(const SynthOptions& options);

// A tiktoken.model of `ranks` entries: the 256 bytes in GPT-2 order, then distinct merges of two earlier entries.
// Requires: ranks >= 256. Spec sections 5.1 and 9.4.
std::string synth_tiktoken(int ranks, std::uint64_t seed);

}  // namespace sluice::kimi_k3
