// The feed-forward half of a layer: the dense SiTU-GLU of the first layers and the Stable LatentMoE of the others
// (spec 3.5, 3.7).
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compute/workspace.h"
#include "models/kimi_k3/census.h"
#include "models/kimi_k3/parts.h"
#include "moe/expert_runner.h"
#include "moe/ram_tier.h"
#include "moe/router.h"

namespace sluice::kimi_k3 {

class DenseMlp {
 public:
  DenseMlp(const KimiK3Config& config, Workspace& work, int rows);
  Result<> run(Pass& pass, int first_step);  // leaves the result in pass.output

 private:
  // y = W x, W in slices of rows from `step` on, which is moved behind them.
  static Result<> project(Pass& pass, int& step, const std::vector<int>& slices, Rows x, Rows y);

  const KimiK3Config& config_;
  DenseSlices slices_;
  Rows gate_, up_;
};

class LatentMoe {
 public:
  // Null stores: over a counting workspace only the size is found.
  LatentMoe(const KimiK3Config& config, Workspace& work, int rows, Ops* ops, ExpertStore* store);
  // `routed` may be empty; it is told whom the router chose.
  Result<> run(Pass& pass, int layer, int first_step, const std::function<void(int, const Routes&)>& routed);

  // Before the attention: reads of what the router would choose now begin, if the router is in memory.
  void expect(Pass& pass, int layer, int first_step, ExpertStore& store);

  static ExpertSpec expert_spec(const KimiK3Config& config);

 private:
  // And x, what the router sees of the stream, and z = W_rdown x, if z has room.
  RouterScores score(Pass& pass, const Lease& w, const ResidualStream::Moment& stream, Rows z);

  const KimiK3Config& config_;
  Rows scores_, z_, outputs_, sum_, shared_gate_, shared_up_, shared_out_, bias_;
  ExpertChooser chooser_;
  std::optional<RamTier> ram_;
  std::optional<ExpertRunner> runner_;
};

}  // namespace sluice::kimi_k3
