// See indexer.h.
#include "models/deepseek_v4/indexer.h"

#include <cmath>

namespace sluice::deepseek_v4 {

namespace {

KeyChooser::Shape chooser_shape(const V4Config& config, bool bf16) {
  return {.heads = config.index_n_heads,
          .dim = config.index_head_dim,
          .top_k = config.index_topk,
          .every = kIndexedRatio,
          .bf16 = bf16};
}

}  // namespace

Indexer::Indexer(const V4Config& config, Rounding rounding, const RopeAngles& angles, Workspace& work, int rows,
                 WideRows& wide)
    : config_(config),
      compressor_(config, Compressor::For::indexer, angles, work, rows),
      query_(work.rows(rows, config.index_n_heads * config.index_head_dim)),
      weights_(work.rows(rows, config.index_n_heads)),
      chooser_(chooser_shape(config, rounding.parity()), wide) {}

std::uint64_t Indexer::list_bytes(const V4Config& config, int rows) {
  if (config.index_topk == 0) return 0;
  return KeyChooser::list_bytes(chooser_shape(config, false), rows, config.max_position_embeddings);
}

// qI = rope(wq_b qr); w = weights_proj x · (heads · dim)^-1/2, which holds the score's own factor dim^-1/2.
void Indexer::run(Pass& pass, int layer, const LogPlaces& logs, const Lease& w, Rows q_latent) {
  compressor_.run(pass, layer,
                  {w[compress::index_ape], w[compress::index_norm], w[compress::index_wkv], w[compress::index_wgate]},
                  {logs.index_partial, logs.index_entries});
  const Rows query = query_.slice(0, pass.rows()), weights = weights_.slice(0, pass.rows());
  const Product products[] = {{w[compress::index_wq_b], q_latent, query},
                              {w[compress::index_weights], pass.x, weights}};
  pass.ops.matmul(products);
  pass.rounding.tensor(query);
  turn(pass.ops, query, config_.index_head_dim, pass.compressed);
  pass.rounding.tensor(query);
  pass.rounding.index(query, config_.index_head_dim);
  pass.rounding.tensor(weights);
  const float scale = 1.0f / std::sqrt(static_cast<float>(config_.index_n_heads * config_.index_head_dim));
  for (int row = 0; row < pass.rows(); ++row)
    for (float& weight : weights[row]) weight = weight * scale;
  pass.rounding.tensor(weights);
  std::function<void(int, std::span<const float>, std::span<const int>)> told;
  if (pass.observers.keys_chosen)
    told = [&](int row, std::span<const float> scores, std::span<const int> entries) {
      pass.observers.keys_chosen(layer, row, scores, entries);
    };
  chooser_.choose(pass.ops, query, weights, pass.segments, logs.index_entries, pass.choice, told);
}

}  // namespace sluice::deepseek_v4
