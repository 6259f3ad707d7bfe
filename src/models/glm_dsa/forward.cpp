// See forward.h.
#include "models/glm_dsa/forward.h"

#include <algorithm>

#include "base/check.h"
#include "models/common/head.h"

namespace sluice::glm_dsa {

namespace {

std::vector<LogPlaces> log_places(const GlmConfig& config, int layers) {
  std::vector<LogPlaces> places;
  int next = layers;
  for (int layer = 0; layer < layers; ++layer) places.push_back({layer, config.owns_indexer(layer) ? next++ : -1});
  return places;
}

std::uint64_t workspace_bytes(const GlmConfig& config, int max_rows) {
  Workspace counting;
  const Layers measured(config, counting, max_rows, ModelParts{});
  return counting.peak_bytes();
}

}  // namespace

// Latents of every layer, then keys of the layers with an indexer.
StateShape Glm::state_shape(const GlmConfig& config, int layers) {
  StateShape shape;
  shape.logs.assign(static_cast<std::size_t>(layers), config.latent_width());
  for (const LogPlaces& places : log_places(config, layers))
    if (places.index >= 0) shape.logs.push_back(config.index_head_dim);
  shape.recurrent_floats.assign(shape.logs.size(), 0);
  return shape;
}

std::uint64_t Glm::scratch_bytes(const GlmConfig& config, int max_rows) {
  return workspace_bytes(config, max_rows) + Indexer::list_bytes(config, max_rows);
}

Glm::Glm(const GlmConfig& config, ModelScope scope, int max_rows, const ModelParts& parts)
    : config_(config),
      max_rows_(max_rows),
      parts_(parts),
      steps_(walk_steps(config, scope)),
      logs_(log_places(config, scope.layers)),
      work_(workspace_bytes(config, max_rows)),
      layers_(config_, work_, max_rows, parts) {
  if (scope.draft_head) mtp_.emplace(config_, steps_, parts, layers_);
}

Result<> Glm::forward(const ForwardBatch& batch) {
  Result<> outcome = run_layers(batch);
  if (!outcome)
    for (const Segment& segment : batch.segments) segment.state->mark_broken();
  return outcome;
}

Result<> Glm::run_layers(const ForwardBatch& batch) {
  const int rows = static_cast<int>(batch.tokens.size());
  SLUICE_CHECK(rows >= 1 && rows <= max_rows_);
  Pass pass = layers_.begin(batch.segments, rows, {batch.routed, batch.foreseen, batch.keys_chosen});
  TRY(parts_.embedding->read(batch.tokens, pass.residual));
  for (std::size_t layer = 0; layer < steps_.layers.size(); ++layer) {
    TRY(batch.still_wanted());
    TRY(layers_.run(pass, static_cast<int>(layer), logs_[layer], steps_.layers[layer]));
    if (batch.after_layer) batch.after_layer(static_cast<int>(layer), pass.residual);
  }
  return head(pass, batch);
}

// f = RMSNorm(h; norm); logits = lm_head · f.
Result<> Glm::head(Pass& pass, const ForwardBatch& batch) {
  if (batch.logit_rows.empty() && batch.hidden.data == nullptr) return {};
  {
    TRY_TAKE(const Lease w, pass.trunk.acquire(steps_.head_norm));
    pass.ops.rms_norm(pass.residual, w[head_norm::norm], config_.rms_norm_eps, pass.x);
  }
  if (batch.hidden.data != nullptr)
    for (int row = 0; row < pass.rows(); ++row) std::ranges::copy(pass.x[row], batch.hidden[row].begin());
  if (batch.logit_rows.empty()) return {};
  return project_logits(pass.ops, pass.trunk, steps_.head(), pass.x, batch.logit_rows, batch.logits);
}

}  // namespace sluice::glm_dsa
