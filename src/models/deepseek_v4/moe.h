// The feed-forward half of a layer (spec 3.8): routed experts, chosen by scores or by a table of token ids, and one
// shared expert, all with a clamped SwiGLU.
#pragma once

#include <optional>

#include "models/deepseek_v4/hyper_connections.h"
#include "moe/expert_runner.h"
#include "moe/ram_tier.h"
#include "moe/router.h"

namespace sluice::deepseek_v4 {

class Moe {
 public:
  // Null stores: over a counting workspace only the size is found.
  Moe(const V4Config& config, Rounding rounding, Workspace& work, int rows, const ModelParts& parts);

  // Reads pass.streams and joins the result to them.
  Result<> run(Pass& pass, int layer, const LayerSteps& steps, HyperConnections& streams);
  // Before the attention: reads of what the router would choose now begin, if the router is in memory. Requires: no
  // table chooses.
  void expect(Pass& pass, int layer, const LayerSteps& steps, HyperConnections& streams, ExpertStore& store);

 private:
  // Of x, the normed mixture of the streams, which stays.
  RouterScores score(Pass& pass, int layer, const Lease& w, Rows streams, HyperConnections& connections);
  Result<> share(Pass& pass, const LayerSteps& steps);

  const V4Config& config_;
  std::span<const IdTable> id_tables_;
  Rows scores_, outputs_, gate_, up_, shared_out_, bias_;
  ExpertChooser chooser_;
  std::vector<int> given_;  // by a table, [rows, top_k]
  std::optional<RamTier> ram_;
  std::optional<ExpertRunner> runner_;
};

}  // namespace sluice::deepseek_v4
