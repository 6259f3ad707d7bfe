// The residual connections of Kimi K3 (spec 3.1, 3.2): attention residuals over block snapshots.
//
// Instead of one running sum, every sub-layer reads a softmax mix over the snapshots taken at block boundaries and the
// running sum
// ("prefix") of the current block. The stream accumulates sub-layer outputs only; what sub-layers read never enters it.
#pragma once

#include <span>
#include <vector>

#include "base/check.h"
#include "compute/ops.h"
#include "compute/workspace.h"
#include "models/kimi_k3/config.h"

namespace sluice::kimi_k3 {

class ResidualStream {
 public:
  // Buffers for `rows` rows through `layers` layers. Over a counting workspace only the size is found.
  ResidualStream(const KimiK3Config& config, int layers, Workspace& work, int rows);

  // Where the embedding of `rows` rows goes; begins a pass.
  Rows begin(int rows);

  // x = rms_norm(mix; norm), mix = the attention residual of all snapshots and the prefix, or the prefix itself while
  // it is alone.
  void read(Ops& ops, const WeightView& res_norm, const WeightView& res_proj, const WeightView& norm, Rows x) {
    read_at(now(), ops, res_norm, res_proj, norm, x);
  }
  // The same as if the stream were what it was at another moment of the pass: snapshots never change, so their number
  // and a copy of the prefix say all.
  struct Moment {
    int snapshots = 0;
    Rows prefix;
  };
  Moment now() const {
    SLUICE_DCHECK(!prefix_empty_);
    return {snapshots(), prefix()};
  }
  void read_at(const Moment& moment, Ops& ops, const WeightView& res_norm, const WeightView& res_proj,
               const WeightView& norm, Rows x);

  // At a block boundary the prefix becomes a snapshot, and the next sub-layer output begins a new prefix.
  void close_block();
  // Adds a sub-layer's output.
  void add(Ops& ops, Rows output);

  int snapshots() const { return static_cast<int>(prefix_); }
  Rows prefix() const { return stream_[prefix_].slice(0, rows_); }
  // Receives the mix weights of the last read [rows, sources]; for goldens. Empty data: not wanted.
  Rows last_weights() const { return weights_.slice(0, rows_).columns(0, snapshots() + 1); }

 private:
  const KimiK3Config& config_;
  std::vector<Rows> stream_;  // snapshots [0, prefix_), then the prefix
  std::size_t prefix_ = 0;
  bool prefix_empty_ = false;
  int rows_ = 0;
  std::vector<Rows> sources_;  // of one read
  Rows weights_;
};

}  // namespace sluice::kimi_k3
