// See indexer.h.
#include "models/glm_dsa/indexer.h"

#include <cmath>

#include "models/common/append_rows.h"

namespace sluice::glm_dsa {

namespace {

KeyChooser::Shape chooser_shape(const GlmConfig& config) {
  return {.heads = config.index_n_heads, .dim = config.index_head_dim, .top_k = config.index_topk};
}

}  // namespace

Indexer::Indexer(const GlmConfig& config, Workspace& work, int rows, WideRows& wide)
    : config_(config), chooser_(chooser_shape(config), wide) {
  if (!config.has_indexer) return;
  query_ = work.rows(rows, config.index_n_heads * config.index_head_dim);
  key_ = work.rows(rows, config.index_head_dim);
  weights_ = work.rows(rows, config.index_n_heads);
}

std::uint64_t Indexer::list_bytes(const GlmConfig& config, int rows) {
  if (!config.has_indexer) return 0;
  return KeyChooser::list_bytes(chooser_shape(config), rows, config.max_position_embeddings);
}

void Indexer::run(Pass& pass, int layer, int log, const Lease& w, Rows q_latent) {
  project(pass, log, w, q_latent);
  std::function<void(int, std::span<const float>, std::span<const int>)> told;
  if (pass.keys_chosen)
    told = [&](int row, std::span<const float> scores, std::span<const int> keys) {
      pass.keys_chosen(layer, row, scores, keys);
    };
  chooser_.choose(pass.ops, query_.slice(0, pass.rows()), weights_.slice(0, pass.rows()), pass.segments, log,
                  pass.choice, told);
}

// qI = rope(wq_b cq); kI = rope(LayerNorm(wk x)) into the log; w = weights_proj x · (heads · dim)^-1/2, which holds the
// score's own factor dim^-1/2.
void Indexer::project(Pass& pass, int log, const Lease& w, Rows q_latent) {
  const int rows = pass.rows(), dim = config_.index_head_dim;
  const Rows query = query_.slice(0, rows), key = key_.slice(0, rows), weights = weights_.slice(0, rows);
  const Product products[] = {{w[attention_in::index_q], q_latent, query},
                              {w[attention_in::index_k], pass.x, key},
                              {w[attention_in::index_weights], pass.x, weights}};
  pass.ops.matmul(products);
  pass.ops.layer_norm(key, w[attention_in::index_k_norm], w[attention_in::index_k_bias], config_.index_k_norm_eps, key);
  for (const Rows& heads : {query, key}) pass.ops.rope({heads, dim, 0, RopeLayout::interleaved, pass.cos, pass.sin});
  const float scale = 1.0f / std::sqrt(static_cast<float>(config_.index_n_heads * dim));
  for (int row = 0; row < rows; ++row)
    for (float& weight : weights[row]) weight = weight * scale;
  append_rows(pass.segments, log, key);
}

}  // namespace sluice::glm_dsa
