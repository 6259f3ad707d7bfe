// Around another policy: the experts that were used most over many turns do not go while anything else can.
//
// A policy forecasts from some dozens of rows. What every conversation uses and the one in hand does not, it lets go;
// pins hold on to it. They are chosen between turns alone: the most used, as many as a share of the slots. A use is a
// request, of one row or of many: a prompt's chunk says little about what comes often. Those of a turn count 0.9 of
// those of the one after it. What is pinned stays so unless another was used 1.5 times as much: two of about equal use
// do not take turns.
//
// A pin reads nothing; it keeps what came. It is in nobody's way: where nothing else can go, a pinned one does. And the
// share is one of what is held: where a cache shrinks, those that were used least lose their pins on the way.
// Time: a request and an eviction cost what those of the other policy do, and a few looks at tables; a choice a pass
// over the experts of the model. Figures: docs/cache_policy.md.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "residency/policy.h"

namespace sluice {

struct PinStats {
  int pinned = 0;          // experts that are pinned now, those among them that have yet to come
  std::uint64_t hits = 0;  // requests for pinned experts that found them in a slot
};

class PinnedExperts final : public EvictionPolicy {
 public:
  // Pins shape.pin_percent of the slots.
  PinnedExperts(std::unique_ptr<EvictionPolicy> inside, PolicyShape shape);

  // Uses of earlier runs, [layers * experts]: they count as a turn of 256 tokens at most, and say what is pinned first.
  void begin_with(std::span<const std::uint32_t> uses) override;
  void requested(int layer, std::span<const ExpertUse> uses) override;
  void filled(int slot, ExpertKey key) override;
  int victim(FunctionRef<bool(int slot)> may_go) override;
  void between_turns() override;

  PinStats stats() const { return {pins(), hits_}; }
  bool pinned(ExpertKey key) const { return is_pinned(index_of(key, shape_.experts), pins()); }

 private:
  static constexpr std::uint32_t kUnpinned = std::numeric_limits<std::uint32_t>::max();
  static constexpr ExpertKey kNowhere{-1, -1};

  void choose();
  int pins() const;  // of chosen_, how many the cache has room for now
  bool is_pinned(std::size_t expert, int pins) const { return rank_[expert] < static_cast<std::uint32_t>(pins); }

  std::unique_ptr<EvictionPolicy> inside_;
  PolicyShape shape_;
  int chosen_ = 0;  // experts that have a rank
  std::uint64_t hits_ = 0;
  std::vector<float> uses_;          // [layers * experts], old turns faded
  std::vector<std::uint32_t> rank_;  // [layers * experts], of the chosen by use, else kUnpinned
  std::vector<int> slot_of_;         // [layers * experts], -1 where not resident
  std::vector<ExpertKey> where_;     // by slot
  int held_ = 0;                     // slots that hold something
  std::size_t look_from_ = 0;        // the slot that was last found to be free to go
};

// Around the shipped policy.
std::unique_ptr<EvictionPolicy> make_pinned_experts(PolicyShape shape);

}  // namespace sluice
