// The feed-forward half of a layer: dense SwiGLU in the first layers, routed and shared experts in the others
// (spec 3.6).
#pragma once

#include <optional>

#include "models/glm_dsa/census.h"
#include "models/glm_dsa/parts.h"
#include "moe/expert_runner.h"
#include "moe/ram_tier.h"
#include "moe/router.h"

namespace sluice::glm_dsa {

class DenseMlp {
 public:
  DenseMlp(const GlmConfig& config, Workspace& work, int rows);
  Result<> run(Pass& pass, int first_step);  // reads pass.residual, leaves the result in pass.output

 private:
  const GlmConfig& config_;
  Rows gate_, up_;
};

class Moe {
 public:
  // Null stores: over a counting workspace only the size is found.
  Moe(const GlmConfig& config, Workspace& work, int rows, Ops* ops, ExpertStore* store);
  Result<> run(Pass& pass, int layer, int first_step);  // as DenseMlp's
  // Before the attention: reads of what the router would choose now begin, if the router is in memory.
  void expect(Pass& pass, int layer, int first_step, ExpertStore& store);

 private:
  RouterScores score(Pass& pass, const Lease& w, Rows residual);  // and x, its norm

  const GlmConfig& config_;
  Rows scores_, outputs_, shared_gate_, shared_up_, shared_out_, bias_;
  ExpertChooser chooser_;
  std::optional<RamTier> ram_;
  std::optional<ExpertRunner> runner_;
};

}  // namespace sluice::glm_dsa
