// See expert_runner.h.
#include "moe/expert_runner.h"

#include "base/check.h"

namespace sluice {

void ExpertRunner::start(int layer, Rows x, const Routes& routes, Rows outputs) {
  routes_ = &routes;
  outputs_ = outputs.slice(0, static_cast<int>(routes.all.size()));
  const std::span<const ExpertGroup> groups = groups_.of(routes);
  unclaimed_.assign(groups.begin(), groups.end());
  for (ExpertTier* tier : tiers_) tier->claim(layer, unclaimed_);
  SLUICE_CHECK(unclaimed_.empty());
  for (ExpertTier* tier : tiers_) tier->start(x, routes, outputs_);
}

Result<> ExpertRunner::finish(Rows y) {
  for (ExpertTier* tier : tiers_) TRY(tier->finish());
  weights_.clear();
  const bool inside = rounding_ == ExpertRounding::release;  // the outputs have their weights already
  for (const Route& route : routes_->all) weights_.push_back(inside ? 1.0f : route.weight);
  ops_.weighted_sum(outputs_, weights_, routes_->top_k, y);
  return {};
}

}  // namespace sluice
