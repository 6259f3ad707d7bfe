// See indexer.h.
#include "models/glm_dsa/indexer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/common/append_rows.h"
#include "models/common/indexer.h"
#include "models/common/vectors.h"

namespace sluice::glm_dsa {

namespace {

// Scores are formed for a few rows at a time: a fetched key then serves them all, and the room stays bounded.
constexpr int kRowsAtOnce = 8;
constexpr int kScoresAtOnce = 1 << 20;

}  // namespace

Indexer::Indexer(const GlmConfig& config, Workspace& work, int rows) : config_(config) {
  if (!config.has_indexer) return;
  query_ = work.rows(rows, config.index_n_heads * config.index_head_dim);
  key_ = work.rows(rows, config.index_head_dim);
  weights_ = work.rows(rows, config.index_n_heads);
  vector_ = work.rows(2, config.index_head_dim);
}

std::uint64_t Indexer::list_bytes(const GlmConfig& config, int rows) {
  if (!config.has_indexer) return 0;
  const auto positions = static_cast<std::uint64_t>(config.max_position_embeddings);
  const auto chosen = std::min(static_cast<std::uint64_t>(config.index_topk), positions);
  const auto scores = std::min(std::max(std::uint64_t{kScoresAtOnce}, positions), kRowsAtOnce * positions);
  return static_cast<std::uint64_t>(rows) * chosen * sizeof(int) + (scores + positions) * sizeof(float);
}

void Indexer::run(Pass& pass, int layer, int log, const Lease& w, Rows q_latent) {
  project(pass, log, w, q_latent);
  choose(pass, layer, log);
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
  pass.ops.layer_norm(key, decode_vector(w[attention_in::index_k_norm], vector_.slice(0, 1)),
                      decode_vector(w[attention_in::index_k_bias], vector_.slice(1, 1)), config_.index_k_norm_eps, key);
  for (const Rows& heads : {query, key}) pass.ops.rope({heads, dim, 0, RopeLayout::interleaved, pass.cos, pass.sin});
  const float scale = 1.0f / std::sqrt(static_cast<float>(config_.index_n_heads * dim));
  for (int row = 0; row < rows; ++row)
    for (float& weight : weights[row]) weight = weight * scale;
  append_rows(pass.segments, log, key);
}

void Indexer::choose(Pass& pass, int layer, int log) {
  pass.choice.clear();
  const auto too_long = [&](const Segment& segment) {
    return segment.state->length() + segment.rows > config_.index_topk;
  };
  if (std::ranges::none_of(pass.segments, too_long)) return;
  pass.choice.begin.push_back(0);
  for (const Segment& segment : pass.segments) {
    const int longest = segment.state->length() + segment.rows;
    const int at_once = std::clamp(kScoresAtOnce / longest, 1, kRowsAtOnce);
    for (int first = 0; first < segment.rows; first += at_once)
      choose_of(pass, layer, log, segment, first, std::min(at_once, segment.rows - first));
  }
}

// Rows first .. first + count of the segment. Each is scored against everything up to the last of them; what lies
// behind its own position is left out afterwards.
void Indexer::choose_of(Pass& pass, int layer, int log, const Segment& segment, int first, int count) {
  const int row = segment.first_row + first, position = segment.state->length() + first, seen = position + count;
  const bool scored = seen > config_.index_topk;
  Rows scores{nullptr, count, seen, seen};
  if (scored) {
    scores_.resize(static_cast<std::size_t>(count) * static_cast<std::size_t>(seen));
    scores.data = scores_.data();
    pass.ops.index_scores({query_.slice(row, count), weights_.slice(row, count), segment.state->log(log).pages(),
                           config_.index_n_heads, config_.index_head_dim, scores});
  }
  for (int offset = 0; offset < count; ++offset) {
    const int visible = position + offset + 1;
    std::vector<int>& chosen = pass.choice.positions;
    if (visible > config_.index_topk) {
      choose_largest(scores[offset].first(static_cast<std::size_t>(visible)), config_.index_topk, ranks_, chosen);
    } else {
      chosen.resize(chosen.size() + static_cast<std::size_t>(visible));
      std::iota(chosen.end() - visible, chosen.end(), 0);
    }
    pass.choice.begin.push_back(static_cast<int>(chosen.size()));
    if (pass.keys_chosen && scored)
      pass.keys_chosen(layer, row + offset, scores[offset].first(static_cast<std::size_t>(visible)),
                       pass.choice.of(row + offset));
  }
}

}  // namespace sluice::glm_dsa
