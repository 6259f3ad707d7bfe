// See layers.h.
#include "models/deepseek_v4/layers.h"

namespace sluice::deepseek_v4 {

namespace {

std::uint64_t rewound(Workspace& work, std::uint64_t mark) {
  work.rewind(mark);
  return mark;
}

}  // namespace

Rows stream_rows(const V4Config& config, Workspace& work, int rows) {
  const int width = config.streams_width();
  return {work.rows(1, rows * width).data, rows, width, width};
}

// Members are laid out in order of declaration; attention and moe are never alive together.
Layers::Layers(const V4Config& config, Rounding rounding, Workspace& work, int rows, const ModelParts& parts)
    : config_(config),
      rounding_(rounding),
      parts_(parts),
      plain_angles_(plain_angles(config)),
      compressed_angles_(compressed_angles(config)),
      streams_(stream_rows(config, work, rows)),
      x_(work.rows(rows, config.hidden_size)),
      output_(work.rows(rows, config.hidden_size)),
      plain_(rotation_rows(config, work, rows)),
      compressed_(rotation_rows(config, work, rows)),
      connections_(config, work, rows),
      after_shared_(work.mark()),
      attention_(config, rounding, compressed_angles_, work, rows),
      moe_((rewound(work, after_shared_), config), rounding, work, rows, parts) {}

Pass Layers::begin(std::span<const Segment> segments, std::span<const int> tokens, int offset, Observers observers) {
  const int rows = static_cast<int>(tokens.size());
  foresight_.begin(observers.foreseen);
  Pass pass{*parts_.ops,
            *parts_.trunk,
            segments,
            tokens,
            streams_.slice(0, rows),
            x_.slice(0, rows),
            output_.slice(0, rows),
            plain_.slice(0, rows),
            compressed_.slice(0, rows),
            choice_,
            offset,
            observers,
            foresight_,
            rounding_};
  for (const Segment& segment : segments) {
    fill(plain_angles_, pass.position(segment), pass.plain.slice(segment.first_row, segment.rows));
    fill(compressed_angles_, pass.position(segment), pass.compressed.slice(segment.first_row, segment.rows));
  }
  return pass;
}

Result<> Layers::run(Pass& pass, int layer, const LogPlaces& logs, const LayerSteps& steps) {
  pass.foresight.note(pass.streams);
  if (parts_.expects(pass.rows()) && !config_.hash_routed(layer))
    moe_.expect(pass, layer, steps, connections_, *parts_.experts);
  TRY(attention_.run(pass, layer, logs, steps, connections_));
  pass.foresight.note(pass.streams);
  return moe_.run(pass, layer, steps, connections_);
}

Result<> Layers::collapse(Pass& pass, int step) {
  TRY_TAKE(const Lease w, pass.trunk.acquire(step));
  connections_.collapse(pass.ops, pass.streams, {w[head_in::hc_fn], w[head_in::hc_base], w[head_in::hc_scale]}, pass.x);
  pass.rounding.tensor(pass.x);
  pass.ops.rms_norm(pass.x, w[head_in::norm], config_.rms_norm_eps, pass.x);
  pass.rounding.tensor(pass.x);
  return {};
}

}  // namespace sluice::deepseek_v4
