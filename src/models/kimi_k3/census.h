// What Kimi K3 needs from a checkpoint: names and shapes of spec section 2.2, cut into blocks in the order a token
// visits them.
//
// The enums number the tensors of each kind of step; forward code indexes leases with them.
#pragma once

#include <vector>

#include "checkpoint/block.h"
#include "models/kimi_k3/config.h"

namespace sluice::kimi_k3 {

namespace kda_stream {  // one of q, k, v; the norms stand before all of them, with q
enum : int { proj, conv, input_norm, res_norm, res_proj };
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
namespace mla_gate {
enum : int { g_proj };
}
namespace mla_out {
enum : int { o_proj };
}
namespace dense_norms {
enum : int { post_norm, res_norm, res_proj };
}
namespace dense_slice {  // rows of gate_proj, up_proj or down_proj
enum : int { rows };
}
namespace router {
enum : int { post_norm, res_norm, res_proj, gate, bias, latent_down_proj };
}
namespace latent_out {
enum : int { latent_norm, latent_up_proj };
}
namespace shared_in {
enum : int { gate_proj, up_proj };
}
namespace shared_out {
enum : int { down_proj };
}
namespace head_norm {
enum : int { norm, res_norm, res_proj };
}
namespace expert {
enum : int { w1, w3, w2 };  // gate, up, down
}

// The large matrices of a dense layer come in slices of rows: a ring must hold the largest step, and what it holds is
// memory that pins nothing.
struct DenseSlices {
  std::vector<int> inner;   // rows of each slice of gate_proj and of up_proj, in order: together intermediate_size
  std::vector<int> hidden;  // of down_proj: together hidden_size
};
DenseSlices dense_slices(const KimiK3Config& config);

// Where the steps of each part of the model stand in the walk.
struct LayerSteps {
  int attention = 0;  // kda_stream for q, k, v, kda_gates, kda_out or mla_in, mla_gate, mla_out from here
  int ffn = 0;        // dense_norms, slices of gate, up, down or router, shared_in, shared_out, latent_out from here
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
