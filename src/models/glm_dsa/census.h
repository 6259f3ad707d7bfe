// What the GLM family needs from a checkpoint: names and shapes of spec section 2.2, cut into blocks in the order a
// token visits them. The blocks of the draft head, if it is wanted, stand behind the head's.
//
// The enums number the tensors of each kind of step; forward code indexes leases with them.
#pragma once

#include <vector>

#include "checkpoint/block.h"
#include "models/common/head.h"
#include "models/glm_dsa/config.h"
#include "models/model.h"

namespace sluice::glm_dsa {

namespace attention_in {
enum : int {
  input_norm,
  q_a_proj,
  q_a_norm,
  q_b_proj,
  kv_a_proj,
  kv_a_norm,
  kv_b_proj,
  // Layers with an indexer of their own:
  index_q,
  index_k,
  index_k_norm,
  index_k_bias,
  index_weights
};
}
namespace attention_out {
enum : int { o_proj };
}
namespace dense_in {
enum : int { post_norm, gate_proj, up_proj };
}
namespace dense_out {
enum : int { down_proj };
}
namespace router {
enum : int { post_norm, gate, bias };
}
namespace shared {
enum : int { gate_proj, up_proj, down_proj };
}
namespace head_norm {
enum : int { norm };
}
namespace draft_in {
enum : int { embedding_norm, hidden_norm, eh_proj };
}
namespace draft_out {
enum : int { norm };
}

// Where the steps of each part of the model stand in the walk.
struct LayerSteps {
  int attention = 0;  // attention_in, attention_out follow each other from here
  int ffn = 0;        // dense_in, dense_out or router, shared from here
};
struct WalkSteps {
  std::vector<LayerSteps> layers;
  int head_norm = 0;
  int head_slices = 0;          // first slice of lm_head; one step each
  std::vector<int> slice_rows;  // rows of each slice, in order: together vocab_size
  int draft_in = 0;             // the draft head's, if it is wanted: draft_in, its layer, draft_out
  LayerSteps draft;
  int draft_out = 0;

  HeadSlices head() const { return {head_slices, slice_rows}; }
};
WalkSteps walk_steps(const GlmConfig& config, ModelScope scope);

// Requires: 1 <= scope.layers <= config.num_hidden_layers; the draft head only if there is one.
Census census(const GlmConfig& config, ModelScope scope);

}  // namespace sluice::glm_dsa
