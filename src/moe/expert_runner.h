// Groups routes by expert, hands the groups to tiers, and forms the one sum.
//
// Results are summed only here: y[t] = Σ weight · output in ascending expert id, flat, one fma chain
// (docs/numerics.md). Any split over tiers and any order of arrival therefore gives the same bits.
#pragma once

#include <vector>

#include "compute/ops.h"
#include "moe/expert_spec.h"
#include "moe/expert_tier.h"

namespace sluice {

class ExpertRunner {
 public:
  // Tiers in the order in which they claim; the last must take everything that is left. `rounding`: of their experts.
  ExpertRunner(Ops& ops, std::vector<ExpertTier*> tiers, ExpertRounding rounding = ExpertRounding::none)
      : ops_(ops), tiers_(std::move(tiers)), rounding_(rounding) {}

  // Begins y [rows, out] = Σ experts of x [rows, in]: reads start now. x, `routes` and outputs [rows * top_k, out]
  // (scratch) must stay until finish. What a caller computes between the two overlaps the reads.
  void start(int layer, Rows x, const Routes& routes, Rows outputs);
  Result<> finish(Rows y);

 private:
  Ops& ops_;
  std::vector<ExpertTier*> tiers_;
  ExpertRounding rounding_;
  const Routes* routes_ = nullptr;
  Rows outputs_;
  ExpertGroups groups_;
  std::vector<ExpertGroup> unclaimed_;
  std::vector<float> weights_;  // as routes
};

}  // namespace sluice
