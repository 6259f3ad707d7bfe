// A place where experts live and are multiplied: RAM, later a GPU or another machine. Activations travel to it, weights
// never.
#pragma once

#include <vector>

#include "base/result.h"
#include "base/rows.h"
#include "moe/routes.h"

namespace sluice {

class ExpertTier {
 public:
  virtual ~ExpertTier() = default;
  // Takes out of `groups` those it will compute; what they point to stays until finish. Called on the engine thread,
  // tiers in a fixed order.
  virtual void claim(int layer, std::vector<ExpertGroup>& groups) = 0;
  // Begins. Outputs, unsummed, go to outputs[route]; x is indexed by row = route / top_k. They are unweighted, unless
  // the expert's rounding wants the weight inside. `routes` stay until finish.
  virtual void start(Rows x, const Routes& routes, Rows outputs) = 0;
  // Returns when every claimed group is done, or fails with the expert and file named. A term is never dropped.
  virtual Result<> finish() = 0;
};

}  // namespace sluice
