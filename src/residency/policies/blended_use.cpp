// See blended_use.h.
#include "residency/policies/blended_use.h"

#include <algorithm>

#include "residency/policies/blend_choice.h"
#include "residency/policies/layer_ranks.h"
#include "residency/policies/use_history.h"

namespace sluice {

namespace {

constexpr double kLeastChance = 1e-9;

class BlendedUse final : public EvictionPolicy {
 public:
  explicit BlendedUse(PolicyShape shape)
      : layers_(shape.layers), history_(shape), choice_(shape), ranks_(shape.layers) {}

  void begin_with(std::span<const std::uint32_t> uses) override { history_.begin_with(uses); }
  void requested(int layer, std::span<const ExpertUse> uses) override {
    if (history_.begins_step(layer)) choice_.step(history_);
    // What a chunk of many rows uses says little about the next row, which is what blends are judged by.
    const double rows = history_.rows_of(uses);
    if (rows <= 1) choice_.judge(layer, uses, history_);
    history_.add(layer, uses, rows);
    now_ = layer;
    ranks_.requested(layer);
  }
  void filled(int slot, ExpertKey key) override { ranks_.filled(slot, key); }
  int victim(FunctionRef<bool(int)> may_go) override {
    return ranks_.victim(
        may_go,
        [&](ExpertKey key) {
          return std::max(kLeastChance, BlendChoice::value(choice_.weights(), history_.signals(key.layer, key.expert)));
        },
        [&](int layer, double chance) { return layers_until(layer, now_, layers_) + layers_ * (1 / chance - 1); });
  }

 private:
  int layers_;
  int now_ = 0;  // the layer of the request in hand
  UseHistory history_;
  BlendChoice choice_;
  LayerRanks ranks_;
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_blended_use(PolicyShape shape) { return std::make_unique<BlendedUse>(shape); }

}  // namespace sluice
