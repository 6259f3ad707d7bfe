// See forward.h.
#include "models/kimi_k3/forward.h"

#include "base/check.h"
#include "models/common/head.h"

namespace sluice::kimi_k3 {

namespace {

std::uint64_t rewound(Workspace& work, std::uint64_t mark) {
  work.rewind(mark);
  return mark;
}

}  // namespace

// Members are laid out in order of declaration; kda, mla, dense and moe are never alive together.
KimiK3::Buffers::Buffers(const KimiK3Config& config, int layers, int max_rows, const ModelParts& parts, Workspace& work)
    : residual(config, layers, work, max_rows),
      x(work.rows(max_rows, config.hidden_size)),
      output(work.rows(max_rows, config.hidden_size)),
      after_shared(work.mark()),
      kda(config, work, max_rows),
      mla((rewound(work, after_shared), config), work, max_rows),
      dense((rewound(work, after_shared), config), work, max_rows),
      moe((rewound(work, after_shared), config), work, max_rows, parts.ops, parts.experts) {}

std::uint64_t KimiK3::scratch_bytes(const KimiK3Config& config, int layers, int max_rows) {
  Workspace counting;
  const Buffers measured(config, layers, max_rows, ModelParts{}, counting);
  return counting.peak_bytes();
}

KimiK3::KimiK3(const KimiK3Config& config, int layers, int max_rows, const ModelParts& parts)
    : config_(config),
      layers_(layers),
      max_rows_(max_rows),
      parts_(parts),
      steps_(walk_steps(config, layers)),
      work_(scratch_bytes(config, layers, max_rows)),
      buffers_(config_, layers, max_rows, parts, work_) {}

Result<> KimiK3::forward(const ForwardBatch& batch) {
  Result<> outcome = run_layers(batch);
  if (!outcome)
    for (const Segment& segment : batch.segments) segment.state->mark_broken();
  return outcome;
}

Result<> KimiK3::run_layers(const ForwardBatch& batch) {
  const int rows = static_cast<int>(batch.tokens.size());
  SLUICE_CHECK(rows >= 1 && rows <= max_rows_);
  TRY(parts_.embedding->read(batch.tokens, buffers_.residual.begin(rows)));
  Pass pass{*parts_.ops,
            *parts_.trunk,
            batch.segments,
            buffers_.residual,
            buffers_.x.slice(0, rows),
            buffers_.output.slice(0, rows),
            foresight_};
  foresight_.begin(batch.foreseen);
  for (int layer = 0; layer < layers_; ++layer) {
    TRY(batch.still_wanted());
    pass.foresight.note(pass.residual.prefix(), pass.residual.snapshots());
    if (parts_.expects(rows) && !config_.is_dense(layer))
      buffers_.moe.expect(pass, layer, steps_.layers[static_cast<std::size_t>(layer)].ffn, *parts_.experts);
    TRY(attention(pass, layer));
    pass.residual.add(pass.ops, pass.output);
    pass.foresight.note(pass.residual.prefix(), pass.residual.snapshots());
    TRY(mlp(pass, layer, batch));
    pass.residual.add(pass.ops, pass.output);
    if (batch.after_layer) batch.after_layer(layer, pass.residual.prefix());
  }
  return head(pass, batch);
}

Result<> KimiK3::attention(Pass& pass, int layer) {
  const int step = steps_.layers[static_cast<std::size_t>(layer)].attention;
  const bool boundary = config_.is_boundary(layer);
  return config_.is_mla[static_cast<std::size_t>(layer)] ? buffers_.mla.run(pass, layer, step, boundary)
                                                         : buffers_.kda.run(pass, layer, step, boundary);
}

Result<> KimiK3::mlp(Pass& pass, int layer, const ForwardBatch& batch) {
  const int step = steps_.layers[static_cast<std::size_t>(layer)].ffn;
  return config_.is_dense(layer) ? buffers_.dense.run(pass, step) : buffers_.moe.run(pass, layer, step, batch.routed);
}

// h = AttnRes(snapshots + [prefix]); logits = lm_head · RMSNorm(h; norm), in slices of rows of lm_head.
Result<> KimiK3::head(Pass& pass, const ForwardBatch& batch) {
  if (batch.logit_rows.empty()) return {};
  {
    TRY_TAKE(const Lease w, pass.trunk.acquire(steps_.head_norm));
    pass.residual.read(pass.ops, w[head_norm::res_norm], w[head_norm::res_proj], w[head_norm::norm], pass.x);
  }
  return project_logits(pass.ops, pass.trunk, {steps_.head_slices, steps_.slice_rows}, pass.x, batch.logit_rows,
                        batch.logits);
}

}  // namespace sluice::kimi_k3
