// See layers.h.
#include "models/glm_dsa/layers.h"

#include "base/check.h"

namespace sluice::glm_dsa {

namespace {

std::uint64_t rewound(Workspace& work, std::uint64_t mark) {
  work.rewind(mark);
  return mark;
}

}  // namespace

// Members are laid out in order of declaration; pairs, attention, dense and moe are never alive together.
Layers::Layers(const GlmConfig& config, Workspace& work, int rows, const ModelParts& parts)
    : config_(config),
      parts_(parts),
      angles_(rope_angles(config)),
      residual_(work.rows(rows, config.hidden_size)),
      x_(work.rows(rows, config.hidden_size)),
      output_(work.rows(rows, config.hidden_size)),
      cos_(work.rows(rows, config.qk_rope_head_dim / 2)),
      sin_(work.rows(rows, config.qk_rope_head_dim / 2)),
      after_shared_(work.mark()),
      pairs_(work.rows(rows, 2 * config.hidden_size)),
      attention_((rewound(work, after_shared_), config), work, rows),
      dense_((rewound(work, after_shared_), config), work, rows),
      moe_((rewound(work, after_shared_), config), work, rows, parts.ops, parts.experts) {}

Pass Layers::pass_over(std::span<const Segment> segments, int rows, bool leaves_keys, const Observers& observers) {
  foresight_.begin(observers.foreseen);
  return {*parts_.ops,
          *parts_.trunk,
          segments,
          residual_.slice(0, rows),
          x_.slice(0, rows),
          output_.slice(0, rows),
          cos_.slice(0, rows),
          sin_.slice(0, rows),
          choice_,
          leaves_keys,
          observers.routed,
          foresight_,
          observers.keys_chosen};
}

Pass Layers::begin(std::span<const Segment> segments, int rows, const Observers& observers) {
  Pass pass = pass_over(segments, rows, true, observers);
  for (const Segment& segment : segments)
    angles_.fill(segment.state->length(), pass.cos.slice(segment.first_row, segment.rows),
                 pass.sin.slice(segment.first_row, segment.rows));
  choice_.clear();
  return pass;
}

Pass Layers::begin_ahead(const Segment& segment, int position, const std::vector<int>& keys,
                         const Observers& observers) {
  SLUICE_CHECK(segment.rows == 1);
  Pass pass = pass_over({&segment, 1}, 1, false, observers);
  angles_.fill(position, pass.cos, pass.sin);
  choice_.positions = keys;
  choice_.begin = {0, static_cast<int>(keys.size())};
  return pass;
}

Result<> Layers::run(Pass& pass, int layer, LogPlaces logs, const LayerSteps& steps) {
  pass.foresight.note(pass.residual);
  if (parts_.expects(pass.rows()) && !config_.dense(layer)) moe_.expect(pass, layer, steps.ffn, *parts_.experts);
  TRY(attention_.run(pass, layer, logs, steps.attention));
  pass.ops.add(pass.output, pass.residual);
  pass.foresight.note(pass.residual);
  TRY(config_.dense(layer) ? dense_.run(pass, steps.ffn) : moe_.run(pass, layer, steps.ffn));
  pass.ops.add(pass.output, pass.residual);
  return {};
}

}  // namespace sluice::glm_dsa
