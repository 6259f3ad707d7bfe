// The tier that multiplies experts in RAM: residents first, while the missing ones land.
//
// It takes whatever no other tier has claimed, and asks the store for one expert at a time, so two slots are enough to
// run.
#pragma once

#include <memory>
#include <vector>

#include "compute/ops.h"
#include "compute/workspace.h"
#include "moe/expert_spec.h"
#include "moe/expert_tier.h"
#include "residency/expert_store.h"

namespace sluice {

class RamTier final : public ExpertTier {
 public:
  // `work` provides buffers for `max_rows` rows of one expert.
  RamTier(Ops& ops, ExpertStore& store, const ExpertSpec& spec, Workspace& work, int max_rows);

  void claim(int layer, std::vector<ExpertGroup>& groups) override;
  void start(Rows x, const Routes& routes, Rows outputs) override;
  Result<> finish() override;

  // Lays out the same buffers in a counting workspace, for the plan.
  static void measure(const ExpertSpec& spec, Workspace& work, int max_rows);

 private:
  struct Buffers {
    Rows x, gate, up, y;
  };
  static Buffers lay_out(const ExpertSpec& spec, Workspace& work, int max_rows);
  void run_expert(const Lease& weights, const ExpertGroup& group);
  void activate(const ExpertGroup& group, Rows gate, Rows up);

  Ops& ops_;
  ExpertStore& store_;
  ExpertSpec spec_;
  Buffers buffers_;
  std::vector<ExpertGroup> groups_;  // ascending by expert
  std::vector<ExpertUse> uses_;      // of them
  std::unique_ptr<Fetch> fetch_;
  int layer_ = 0;
  const Routes* routes_ = nullptr;
  Rows x_, outputs_;
};

}  // namespace sluice
