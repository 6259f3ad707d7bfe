// What DeepSeek-V4 needs from a checkpoint: names and shapes of spec section 2.2, cut into blocks in the order a token
// visits them. The blocks of the draft head (the MTP block), if it is wanted, stand behind the head's.
//
// The enums number the tensors of each kind of step; forward code indexes leases with them. A tensor is asked for by
// its released name and, if there is none, by the name that transformers gives it (spec section 2.5). Which expert a
// hash-routed token meets is no weight and in no step: see Census::id_tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/block.h"
#include "models/common/head.h"
#include "models/deepseek_v4/config.h"
#include "models/model.h"

namespace sluice::deepseek_v4 {

namespace attention_in {
enum : int { hc_fn, hc_base, hc_scale, norm, wq_a, q_norm, wq_b, wkv, kv_norm, sink };
}
namespace compress {  // only in layers that compress
enum : int {
  ape,
  norm,
  wkv,
  wgate,
  // Layers with an indexer:
  index_wq_b,
  index_weights,
  index_ape,
  index_norm,
  index_wkv,
  index_wgate
};
}
namespace group_out {
enum : int { wo_a };
}
namespace attention_out {
enum : int { wo_b };
}
namespace router {
enum : int {
  hc_fn,
  hc_base,
  hc_scale,
  norm,
  gate,
  bias  // only in layers that are routed by scores
};
}
namespace shared {
enum : int { w1, w3, w2 };
}
namespace head_in {  // of the trunk and of the draft head
enum : int { hc_fn, hc_base, hc_scale, norm };
}
namespace draft_in {
enum : int { enorm, hnorm, e_proj, h_proj };
}

// Where the steps of each part of the model stand in the walk.
struct LayerSteps {
  int attention = 0;  // attention_in
  int compress = -1;  // none where the layer does not compress
  int output = 0;     // group_out, attention_out follow each other from here
  int router = 0;
  int shared = 0;
};
struct WalkSteps {
  std::vector<LayerSteps> layers;
  int head_in = 0;
  int head_slices = 0;          // first slice of the head's matrix; one step each
  std::vector<int> slice_rows;  // rows of each slice, in order: together vocab_size
  int draft_in = 0;             // the draft head's, if it is wanted: draft_in, its layer, a head_in
  LayerSteps draft;
  int draft_out = 0;

  HeadSlices head() const { return {head_slices, slice_rows}; }
};
WalkSteps walk_steps(const V4Config& config, ModelScope scope);

// Requires: 1 <= scope.layers <= config.num_hidden_layers; the draft head only if there is one. The draft head is layer
// num_hidden_layers there.
Census census(const V4Config& config, ModelScope scope);

}  // namespace sluice::deepseek_v4
