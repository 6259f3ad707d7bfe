// The MTP block. See forward.h; formulas: spec 7.1.
#include <algorithm>

#include "base/check.h"
#include "models/common/head.h"
#include "models/deepseek_v4/forward.h"

namespace sluice::deepseek_v4 {

namespace {

constexpr LogPlaces kLogs{.window = 0};
const std::function<void(int, const Routes&)> kNobodyRouted;
const ExpertsForeseen kNobodyForeseen;
const KeysChosen kNobodyChosen;

}  // namespace

Mtp::Mtp(const V4Config& config, const WalkSteps& steps, const ModelParts& parts, Layers& layers)
    : config_(config), steps_(steps), parts_(parts), layers_(layers) {}

StateShape Mtp::state_shape(const V4Config& config) { return draft_state_shape(config); }

std::unique_ptr<SequenceState> Mtp::new_state() const { return std::make_unique<SequenceState>(state_shape(config_)); }

// Y_i = e_proj RMSNorm(embed[next]; enorm) + h_proj RMSNorm(X_i; hnorm) for every stream i, then the block.
Result<> Mtp::run(Pass& pass, Rows hidden) {
  const int width = config_.hidden_size, streams = config_.hc_mult;
  const float eps = config_.rms_norm_eps;
  TRY(parts_.embedding->read(pass.tokens, pass.x));
  pass.rounding.tensor(pass.x);
  {
    TRY_TAKE(const Lease w, pass.trunk.acquire(steps_.draft_in));
    pass.ops.rms_norm(pass.x, w[draft_in::enorm], eps, pass.x);
    pass.rounding.tensor(pass.x);
    pass.rounding.input(pass.x);
    const Product embedded[] = {{w[draft_in::e_proj], pass.x, pass.output}};
    pass.ops.matmul(embedded);
    pass.rounding.tensor(pass.output);
    for (int stream = 0; stream < streams; ++stream) {
      const Rows y = pass.streams.columns(stream * width, width);
      pass.ops.rms_norm(hidden.columns(stream * width, width), w[draft_in::hnorm], eps, pass.x);
      pass.rounding.tensor(pass.x);
      pass.rounding.input(pass.x);
      const Product projected[] = {{w[draft_in::h_proj], pass.x, y}};
      pass.ops.matmul(projected);
      pass.rounding.tensor(y);
      pass.ops.add(pass.output, y);
      pass.rounding.tensor(y);
    }
  }
  return layers_.run(pass, config_.num_hidden_layers, kLogs, steps_.draft);
}

Result<DraftCursor> Mtp::extend(const DraftBatch& batch) {
  const int rows = batch.hidden.rows, last = rows - 1;
  SLUICE_CHECK(rows >= 1 && static_cast<std::size_t>(rows) == batch.next.size());
  const Segment segment{batch.state, 0, rows};
  Pass pass = layers_.begin({&segment, 1}, batch.next, 0, {batch.routed, kNobodyForeseen, batch.keys_chosen});
  if (Result<> done = run(pass, batch.hidden); !done) {
    batch.state->mark_broken();
    return tl::unexpected<Error>(std::move(done.error()));
  }
  if (batch.after_layer) batch.after_layer(config_.num_hidden_layers, pass.streams);
  DraftCursor cursor{batch.state, batch.state->length() + last, {}, {}};
  cursor.hidden.assign(pass.streams[last].begin(), pass.streams[last].end());
  if (batch.logit_rows.empty()) return cursor;
  TRY(layers_.collapse(pass, steps_.draft_out));
  TRY(project_logits(pass.ops, pass.trunk, steps_.head(), pass.x, batch.logit_rows, batch.logits));
  return cursor;
}

// The window holds true positions, then the rows of the drafts so far, which the cursor brings along: nothing of them
// stays.
Result<> Mtp::ahead(DraftCursor& cursor, int token, Rows logits) {
  SequenceState& state = *cursor.state;
  const int width = config_.head_dim, drafted = static_cast<int>(cursor.drafted.size()) / width;
  SLUICE_CHECK(state.length() + drafted == cursor.position + 1);
  state.open(drafted + 1);
  RowLog& window = state.log(kLogs.window);
  for (int row = 0; row < drafted; ++row)
    std::copy_n(cursor.drafted.begin() + std::ptrdiff_t{row} * width, width, window.row(state.length() + row).begin());
  const Segment segment{&state, 0, 1};
  Pass pass = layers_.begin({&segment, 1}, {&token, 1}, drafted, {kNobodyRouted, kNobodyForeseen, kNobodyChosen});
  const int streams = config_.streams_width();
  if (Result<> done = run(pass, {cursor.hidden.data(), 1, streams, streams}); !done) {
    state.mark_broken();
    return done;
  }
  const std::span<const float> key = window.row(state.length() + drafted);
  cursor.drafted.insert(cursor.drafted.end(), key.begin(), key.end());
  state.commit(0);
  ++cursor.position;
  std::ranges::copy(pass.streams[0], cursor.hidden.begin());
  TRY(layers_.collapse(pass, steps_.draft_out));
  const int only[] = {0};
  return project_logits(pass.ops, pass.trunk, steps_.head(), pass.x, only, logits);
}

}  // namespace sluice::deepseek_v4
