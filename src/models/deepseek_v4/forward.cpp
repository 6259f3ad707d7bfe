// See forward.h.
#include "models/deepseek_v4/forward.h"

#include <algorithm>

#include "base/check.h"
#include "models/common/head.h"
#include "models/deepseek_v4/hash_routes.h"

namespace sluice::deepseek_v4 {

namespace {

std::uint64_t workspace_bytes(const V4Config& config, int max_rows) {
  Workspace counting;
  const Layers measured(config, Rounding(false), counting, max_rows, ModelParts{});
  return counting.peak_bytes();
}

// Every stream begins as the token's embedding, which is read into x.
void spread(const V4Config& config, Pass& pass) {
  for (int row = 0; row < pass.rows(); ++row)
    for (int stream = 0; stream < config.hc_mult; ++stream)
      std::ranges::copy(pass.x[row],
                        pass.streams.columns(stream * config.hidden_size, config.hidden_size)[row].begin());
}

}  // namespace

StateShape DeepseekV4::state_shape(const V4Config& config, int layers) { return state_logs(config, layers).shape; }

// Pending rows lie in the states: those of one pass, whichever sequences they belong to, count here.
std::uint64_t DeepseekV4::scratch_bytes(const V4Config& config, ModelScope scope, int max_rows) {
  return workspace_bytes(config, max_rows) + Indexer::list_bytes(config, max_rows) +
         state_shape(config, scope.layers).pending_bytes(max_rows) +
         (scope.draft_head ? draft_state_shape(config).pending_bytes(max_rows) : 0);
}

DeepseekV4::DeepseekV4(const V4Config& config, ModelScope scope, int max_rows, const ModelParts& parts)
    : config_(config),
      max_rows_(max_rows),
      parts_(parts),
      steps_(walk_steps(config, scope)),
      logs_(state_logs(config, scope.layers).layers),
      work_(workspace_bytes(config, max_rows)),
      layers_(config_, Rounding(scope.parity), work_, max_rows, parts) {
  if (scope.draft_head) mtp_.emplace(config_, steps_, parts, layers_);
}

Result<> DeepseekV4::forward(const ForwardBatch& batch) {
  Result<> outcome = run_layers(batch);
  if (!outcome)
    for (const Segment& segment : batch.segments) segment.state->mark_broken();
  return outcome;
}

Result<> DeepseekV4::run_layers(const ForwardBatch& batch) {
  const int rows = static_cast<int>(batch.tokens.size());
  SLUICE_CHECK(rows >= 1 && rows <= max_rows_);
  if (parts_.read_known) hint_experts(parts_.id_tables, batch.tokens, *parts_.experts);
  Pass pass = layers_.begin(batch.segments, batch.tokens, 0, {batch.routed, batch.foreseen, batch.keys_chosen});
  TRY(parts_.embedding->read(batch.tokens, pass.x));
  pass.rounding.tensor(pass.x);
  spread(config_, pass);
  for (std::size_t layer = 0; layer < steps_.layers.size(); ++layer) {
    TRY(batch.still_wanted());
    TRY(layers_.run(pass, static_cast<int>(layer), logs_[layer], steps_.layers[layer]));
    if (batch.after_layer) batch.after_layer(static_cast<int>(layer), pass.streams);
  }
  if (batch.hidden.data != nullptr)
    for (int row = 0; row < rows; ++row) std::ranges::copy(pass.streams[row], batch.hidden[row].begin());
  if (batch.logit_rows.empty()) return {};
  TRY(layers_.collapse(pass, steps_.head_in));
  return project_logits(pass.ops, pass.trunk, steps_.head(), pass.x, batch.logit_rows, batch.logits);
}

}  // namespace sluice::deepseek_v4
