// See residual_stream.h.
#include "models/kimi_k3/residual_stream.h"

#include <algorithm>

#include "base/check.h"
#include "models/common/vectors.h"

namespace sluice::kimi_k3 {

ResidualStream::ResidualStream(const KimiK3Config& config, int layers, Workspace& work, int rows) : config_(config) {
  const int snapshots = (layers + config.attn_res_block_size - 1) / config.attn_res_block_size;
  for (int source = 0; source <= snapshots; ++source) stream_.push_back(work.rows(rows, config.hidden_size));
  fold_ = work.rows(1, config.hidden_size);
  gain_ = work.rows(1, config.hidden_size);
  weights_ = work.rows(rows, snapshots + 1);
}

Rows ResidualStream::begin(int rows) {
  rows_ = rows;
  prefix_ = 0;
  prefix_empty_ = false;
  return prefix();
}

void ResidualStream::read(Ops& ops, const WeightView& res_norm, const WeightView& res_proj, const WeightView& norm,
                          Rows x) {
  SLUICE_DCHECK(!prefix_empty_);
  const std::span<const float> gain = decode_vector(norm, gain_);
  if (prefix_ == 0) {  // layer 0: no snapshot yet, attention reads the embedding
    ops.rms_norm(prefix(), gain, config_.rms_norm_eps, x);
    return;
  }
  const std::span<float> fold = decode_vector(res_norm, fold_);  // f = γ ⊙ p
  const std::span<const float> projection = decode_vector(res_proj, x.slice(0, 1));
  std::ranges::transform(fold, projection, fold.begin(), [](float g, float p) { return g * p; });
  std::vector<Rows> sources;
  for (std::size_t source = 0; source <= prefix_; ++source) sources.push_back(stream_[source].slice(0, rows_));
  ops.attention_residual(sources, fold, config_.rms_norm_eps, x, last_weights());
  ops.rms_norm(x, gain, config_.rms_norm_eps, x);
}

void ResidualStream::close_block() {
  ++prefix_;
  prefix_empty_ = true;
}

void ResidualStream::add(Ops& ops, Rows output) {
  if (prefix_empty_) {
    for (int row = 0; row < rows_; ++row) std::ranges::copy(output[row], prefix()[row].begin());
    prefix_empty_ = false;
  } else {
    ops.add(output, prefix());
  }
}

}  // namespace sluice::kimi_k3
