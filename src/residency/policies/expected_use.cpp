// See expected_use.h.
#include "residency/policies/expected_use.h"

#include <limits>
#include <vector>

#include "residency/policies/layer_ranks.h"

namespace sluice {

namespace {

constexpr double kStepDecay = 0.9;      // per step of the layer
constexpr double kLargestUnit = 1e200;  // a layer's numbers are divided by its unit before it outgrows this

// Decay without touching every expert at every step: uses are counted in a unit that grows by 1/0.9 a step, so that
// old uses shrink by themselves.
class ExpectedUse final : public EvictionPolicy {
 public:
  explicit ExpectedUse(PolicyShape shape)
      : layer_count_(shape.layers),
        experts_(shape.experts),
        uses_(static_cast<std::size_t>(shape.layers) * static_cast<std::size_t>(shape.experts), 0),
        layers_(static_cast<std::size_t>(shape.layers)),
        ranks_(shape.layers) {}

  void requested(int layer, std::span<const ExpertUse> uses) override {
    now_ = layer;
    Layer& mine = layers_[static_cast<std::size_t>(layer)];
    mine.unit /= kStepDecay;
    mine.seen = mine.seen * kStepDecay + 1;
    for (const ExpertUse& use : uses) uses_[index_of({layer, use.expert}, experts_)] += mine.unit;
    if (mine.unit > kLargestUnit) {
      for (int expert = 0; expert < experts_; ++expert) uses_[index_of({layer, expert}, experts_)] /= mine.unit;
      mine.unit = 1;
    }
    ranks_.requested(layer);
  }
  void filled(int slot, ExpertKey key) override { ranks_.filled(slot, key); }
  int victim(FunctionRef<bool(int)> may_go) override {
    return ranks_.victim(
        may_go, [&](ExpertKey key) { return uses_[index_of(key, experts_)]; },
        [&](int layer, double uses) { return distance(layer, uses); });
  }

 private:
  struct Layer {
    double unit = 1;  // what a use counts now
    double seen = 0;  // what an expert used at every step would have, in units
  };

  // until + L * (1/p - 1) with p = uses / (unit * seen). What was never used (a preload) goes first.
  double distance(int layer, double uses) const {
    const Layer& mine = layers_[static_cast<std::size_t>(layer)];
    if (uses == 0) return std::numeric_limits<double>::infinity();
    return layers_until(layer, now_, layer_count_) + layer_count_ * (mine.unit * mine.seen / uses - 1);
  }

  int layer_count_, experts_;
  int now_ = 0;               // the layer of the request in hand
  std::vector<double> uses_;  // [layers * experts], in units of the layer
  std::vector<Layer> layers_;
  LayerRanks ranks_;
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_expected_use(PolicyShape shape) { return std::make_unique<ExpectedUse>(shape); }

}  // namespace sluice
