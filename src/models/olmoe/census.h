// What OLMoE needs from a checkpoint: names and shapes of spec section 2, cut into blocks in the order a token visits
// them.
#pragma once

#include <vector>

#include "checkpoint/block.h"
#include "models/olmoe/config.h"

namespace sluice::olmoe {

// The walk: one step a layer, the final norm, lm_head in slices. The enums number the tensors of a step.
namespace layer_step {
enum : int { input_norm, q_proj, k_proj, v_proj, q_norm, k_norm, o_proj, post_norm, router };
}
namespace norm_step {
enum : int { norm };
}

// Binds the first `layers` layers and the head. Requires: 1 <= layers <= config.num_hidden_layers.
Census census(const OlmoeConfig& config, int layers);

}  // namespace sluice::olmoe
