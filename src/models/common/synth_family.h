// What the random checkpoints of all families have in common beside their tensors.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "checkpoint/synth.h"

namespace sluice {

// A family's sizes at the scale that was chosen, with the layers and experts that were asked for. Sizes has the members
// layers, experts and top_k. bad_input if there would be no layer or no expert.
template <class Sizes>
Result<Sizes> chosen_sizes(const Sizes& tiny, const Sizes& full, const SynthOptions& options) {
  Sizes sizes = options.scale == SynthScale::tiny ? tiny : full;
  sizes.layers = options.layers.value_or(sizes.layers);
  sizes.experts = options.experts.value_or(sizes.experts);
  if (sizes.layers < 1 || sizes.layers > 1000)
    return fail(ErrorKind::bad_input, fmt::format("--layers {}: 1 to 1000 are possible", sizes.layers));
  if (sizes.experts < 1 || sizes.experts > 65536)
    return fail(ErrorKind::bad_input, fmt::format("--experts {}: 1 to 65536 are possible", sizes.experts));
  sizes.top_k = std::min(sizes.top_k, sizes.experts);
  return sizes;
}

// The config's "sluice_synth", by which write_synth recognises its own work.
nlohmann::ordered_json synth_mark(const SynthOptions& options);

// A checkpoint with its config and generation config, and no shard yet.
SynthCheckpoint synth_with_configs(const nlohmann::ordered_json& config, const nlohmann::ordered_json& generation,
                                   const SynthOptions& options);

// model.embed_tokens, model.norm and lm_head, as most families call them.
std::vector<SynthTensor> synth_globals(int vocab, int hidden);

}  // namespace sluice
