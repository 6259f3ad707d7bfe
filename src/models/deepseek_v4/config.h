// config.json of DeepSeek-V4, Flash and Pro, with every rule of spec section 1. Names are the file's.
//
// Nothing is derived from a coincidence of one release: widths of products, kinds of layers and ways of routing all
// come from the fields below.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "models/common/yarn.h"

namespace sluice::deepseek_v4 {

// compress_ratio of a layer that chooses among overlapping windows with an indexer; all others take every window.
inline constexpr int kIndexedRatio = 4;

struct V4Config {
  int vocab_size = 0, hidden_size = 0, num_hidden_layers = 0;
  float rms_norm_eps = 0;
  int max_position_embeddings = 0;
  // Residual streams
  int hc_mult = 0, hc_sinkhorn_iters = 0;
  float hc_eps = 0;
  // Attention
  int num_attention_heads = 0, head_dim = 0, qk_rope_head_dim = 0, q_lora_rank = 0, o_groups = 0, o_lora_rank = 0,
      sliding_window = 0;
  float rope_theta = 0, compress_rope_theta = 0;              // of layers that do not compress, of those that do
  YarnScaling yarn = {};                                      // of those that do; no factor on the scores (spec 3.4)
  std::vector<int> compress_ratios;                           // by layer: 0, 4 or more; the MTP block is not in it
  int index_n_heads = 0, index_head_dim = 0, index_topk = 0;  // 0 without a layer of ratio 4
  // Feed-forward
  int n_routed_experts = 0, num_experts_per_tok = 0, moe_intermediate_size = 0, num_hash_layers = 0;
  bool norm_topk_prob = true;
  float routed_scaling_factor = 0, swiglu_limit = 0;
  // 0 or 1: a block of ratio 0, routed by scores, stored as mtp.0; also called layer num_hidden_layers. Later releases
  // store the stages of DSpark under mtp instead, which are known and not run.
  int num_nextn_predict_layers = 0;
  bool has_dspark = false;
  std::vector<int> stop_ids;

  bool has_draft_head() const { return num_nextn_predict_layers == 1 && !has_dspark; }
  int ratio(int layer) const {
    return layer < num_hidden_layers ? compress_ratios[static_cast<std::size_t>(layer)] : 0;
  }
  bool compresses(int layer) const { return ratio(layer) != 0; }
  bool has_indexer(int layer) const { return ratio(layer) == kIndexedRatio; }  // and windows that overlap
  bool hash_routed(int layer) const { return layer < num_hash_layers; }
  int q_width() const { return num_attention_heads * head_dim; }
  int group_width() const { return q_width() / o_groups; }  // columns of wo_a
  int o_width() const { return o_groups * o_lora_rank; }    // rows of wo_a, columns of wo_b
  int streams_width() const { return hc_mult * hidden_size; }
  int mixes() const { return (2 + hc_mult) * hc_mult; }  // rows of hc_attn_fn and hc_ffn_fn
  // Rows of a compressor's matrices: its own and, where windows overlap, those for the window after it.
  int compressor_rows(int layer, int width) const { return has_indexer(layer) ? 2 * width : width; }
};

// True of the model_type that this family runs.
bool knows(std::string_view model_type);

// Every missing, mistyped or contradictory field in one Error (bad_input); a relative that is not run: unsupported.
// `where` names the file.
Result<V4Config> parse_config(std::string_view json, std::string_view where);

}  // namespace sluice::deepseek_v4
