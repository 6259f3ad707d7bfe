// The draft head. See forward.h; formulas: spec section 4.
#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "models/common/head.h"
#include "models/glm_dsa/forward.h"

namespace sluice::glm_dsa {

namespace {

constexpr LogPlaces kLogs{0, 1};
const std::function<void(int, Rows)> kNobodyAfterLayer;
const std::function<void(int, const Routes&)> kNobodyRouted;
const ExpertsForeseen kNobodyForeseen;
const KeysChosen kNobodyChosen;

}  // namespace

Mtp::Mtp(const GlmConfig& config, const WalkSteps& steps, const ModelParts& parts, Layers& layers)
    : config_(config), steps_(steps), parts_(parts), layers_(layers) {}

StateShape Mtp::state_shape(const GlmConfig& config) {
  StateShape shape;
  shape.logs = {config.latent_width()};
  if (config.has_indexer) shape.logs.push_back(config.index_head_dim);
  shape.recurrent_floats.assign(shape.logs.size(), 0);
  return shape;
}

std::unique_ptr<SequenceState> Mtp::new_state() const { return std::make_unique<SequenceState>(state_shape(config_)); }

// u = eh_proj [RMSNorm(embed[next]; enorm) | RMSNorm(f; hnorm)]; r = Layer(u); m = RMSNorm(r; shared_head.norm), left
// in pass.x.
Result<> Mtp::run(Pass& pass, std::span<const int> next, Rows hidden,
                  const std::function<void(int, Rows)>& after_layer) {
  const int width = config_.hidden_size, layer = config_.num_hidden_layers;
  const float eps = config_.rms_norm_eps;
  TRY(parts_.embedding->read(next, pass.x));
  {
    TRY_TAKE(const Lease w, pass.trunk.acquire(steps_.draft_in));
    const Rows pairs = layers_.pairs(pass.rows());
    pass.ops.rms_norm(pass.x, w[draft_in::embedding_norm], eps, pairs.columns(0, width));
    pass.ops.rms_norm(hidden, w[draft_in::hidden_norm], eps, pairs.columns(width, width));
    const Product join[] = {{w[draft_in::eh_proj], pairs, pass.residual}};
    pass.ops.matmul(join);
  }
  TRY(layers_.run(pass, layer, kLogs, steps_.draft));
  if (after_layer) after_layer(layer, pass.residual);
  TRY_TAKE(const Lease w, pass.trunk.acquire(steps_.draft_out));
  pass.ops.rms_norm(pass.residual, w[draft_out::norm], eps, pass.x);
  return {};
}

Result<DraftCursor> Mtp::extend(const DraftBatch& batch) {
  const int rows = batch.hidden.rows, last = rows - 1;
  SLUICE_CHECK(rows >= 1 && static_cast<std::size_t>(rows) == batch.next.size());
  const Segment segment{batch.state, 0, rows};
  Pass pass = layers_.begin({&segment, 1}, rows, {batch.routed, kNobodyForeseen, batch.keys_chosen});
  DraftCursor cursor{batch.state, batch.state->length() + last, {}, {}};
  if (Result<> done = run(pass, batch.next, batch.hidden, batch.after_layer); !done) {
    batch.state->mark_broken();
    return tl::unexpected<Error>(std::move(done.error()));
  }
  cursor.hidden.assign(pass.x[last].begin(), pass.x[last].end());
  if (pass.choice.everything()) {
    cursor.keys.resize(static_cast<std::size_t>(cursor.position) + 1);
    std::iota(cursor.keys.begin(), cursor.keys.end(), 0);
  } else {
    cursor.keys.assign(pass.choice.of(last).begin(), pass.choice.of(last).end());
  }
  if (!batch.logit_rows.empty())
    TRY(project_logits(pass.ops, pass.trunk, steps_.head(), pass.x, batch.logit_rows, batch.logits));
  return cursor;
}

// The keys of step 0 serve all later ones, which are not among them (4.4); what is fed back is m, after the norm (4.2).
Result<> Mtp::ahead(DraftCursor& cursor, int token, Rows logits) {
  const Segment segment{cursor.state, 0, 1};
  Pass pass =
      layers_.begin_ahead(segment, cursor.position + 1, cursor.keys, {kNobodyRouted, kNobodyForeseen, kNobodyChosen});
  TRY(run(pass, {&token, 1}, {cursor.hidden.data(), 1, config_.hidden_size, config_.hidden_size}, kNobodyAfterLayer));
  ++cursor.position;
  std::ranges::copy(pass.x[0], cursor.hidden.begin());
  const int only[] = {0};
  return project_logits(pass.ops, pass.trunk, steps_.head(), pass.x, only, logits);
}

}  // namespace sluice::glm_dsa
