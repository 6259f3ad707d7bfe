// See residual_stream.h.
#include "models/kimi_k3/residual_stream.h"

#include <algorithm>

namespace sluice::kimi_k3 {

ResidualStream::ResidualStream(const KimiK3Config& config, int layers, Workspace& work, int rows) : config_(config) {
  const int snapshots = (layers + config.attn_res_block_size - 1) / config.attn_res_block_size;
  for (int source = 0; source <= snapshots; ++source) stream_.push_back(work.rows(rows, config.hidden_size));
  weights_ = work.rows(rows, snapshots + 1);
}

Rows ResidualStream::begin(int rows) {
  rows_ = rows;
  prefix_ = 0;
  prefix_empty_ = false;
  return prefix();
}

void ResidualStream::read_at(const Moment& moment, Ops& ops, const WeightView& res_norm, const WeightView& res_proj,
                             const WeightView& norm, Rows x) {
  if (moment.snapshots == 0) {  // layer 0: no snapshot yet, attention reads the embedding
    ops.rms_norm(moment.prefix, norm, config_.rms_norm_eps, x);
    return;
  }
  sources_.clear();
  for (int source = 0; source < moment.snapshots; ++source)
    sources_.push_back(stream_[static_cast<std::size_t>(source)].slice(0, rows_));
  sources_.push_back(moment.prefix);
  ops.attention_residual(sources_, res_norm, res_proj, config_.rms_norm_eps, x,
                         weights_.slice(0, rows_).columns(0, moment.snapshots + 1));
  ops.rms_norm(x, norm, config_.rms_norm_eps, x);
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
