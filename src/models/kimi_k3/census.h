// What Kimi K3 needs from a checkpoint: names and shapes of spec section 2.2, cut into blocks in the order a token
// visits them.
//
// The enums number the tensors of each kind of step; forward code indexes leases with them.
#pragma once

#include <vector>

#include "checkpoint/block.h"
#include "models/kimi_k3/config.h"

namespace sluice::kimi_k3 {

namespace kda_in {
enum : int { input_norm, res_norm, res_proj, q_proj, k_proj, v_proj, q_conv, k_conv, v_conv };
}
namespace kda_gates {
enum : int { f_a_proj, f_b_proj, a_log, dt_bias, b_proj, g_proj, o_norm };
}
namespace kda_out {
enum : int { o_proj };
}
namespace mla_in {
enum : int { input_norm, res_norm, res_proj, q_a_proj, q_a_norm, q_b_proj, kv_a_proj, kv_a_norm, kv_b_proj };
}
namespace mla_out {
enum : int { g_proj, o_proj };
}
namespace dense_in {
enum : int { post_norm, res_norm, res_proj, gate_proj, up_proj };
}
namespace dense_out {
enum : int { down_proj };
}
namespace router {
enum : int { post_norm, res_norm, res_proj, gate, bias, latent_down_proj };
}
namespace latent_out {
enum : int { latent_norm, latent_up_proj };
}
namespace shared {
enum : int { gate_proj, up_proj, down_proj };
}
namespace head_norm {
enum : int { norm, res_norm, res_proj };
}
namespace expert {
enum : int { w1, w3, w2 };  // gate, up, down
}

// Where the steps of each part of the model stand in the walk.
struct LayerSteps {
  int attention = 0;  // kda_in, kda_gates, kda_out or mla_in, mla_out follow each other from here
  int ffn = 0;        // dense_in, dense_out or router, shared, latent_out from here
};
struct WalkSteps {
  std::vector<LayerSteps> layers;
  int head_norm = 0;
  int head_slices = 0;          // first slice of lm_head; one step each
  std::vector<int> slice_rows;  // rows of each slice, in order: together vocab_size
};
WalkSteps walk_steps(const KimiK3Config& config, int layers);

// Binds the first `layers` layers and the head. Requires: 1 <= layers <= config.num_hidden_layers.
Census census(const KimiK3Config& config, int layers);

}  // namespace sluice::kimi_k3
