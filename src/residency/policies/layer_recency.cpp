// See layer_recency.h.
#include "residency/policies/layer_recency.h"

#include <vector>

#include "residency/policies/layer_ranks.h"

namespace sluice {

namespace {

class LayerRecency final : public EvictionPolicy {
 public:
  explicit LayerRecency(PolicyShape shape)
      : layers_(shape.layers),
        experts_(shape.experts),
        visits_(static_cast<std::size_t>(shape.layers), 0),
        last_visit_(static_cast<std::size_t>(shape.layers) * static_cast<std::size_t>(shape.experts), 0),
        ranks_(shape.layers) {}

  void requested(int layer, std::span<const ExpertUse> uses) override {
    now_ = layer;
    const std::uint32_t visit = ++visits_[static_cast<std::size_t>(layer)];
    for (const ExpertUse& use : uses) last_visit_[index_of({layer, use.expert}, experts_)] = visit;
    ranks_.requested(layer);
  }
  void filled(int slot, ExpertKey key) override { ranks_.filled(slot, key); }
  int victim(FunctionRef<bool(int)> may_go) override {
    return ranks_.victim(
        may_go, [&](ExpertKey key) { return static_cast<double>(last_visit_[index_of(key, experts_)]); },
        [&](int layer, double last) {
          return layers_until(layer, now_, layers_) + layers_ * (visits_[static_cast<std::size_t>(layer)] - last);
        });
  }

 private:
  int layers_, experts_;
  int now_ = 0;                            // the layer of the request in hand
  std::vector<std::uint32_t> visits_;      // [layers]
  std::vector<std::uint32_t> last_visit_;  // [layers * experts], number of the layer's visit that used it
  LayerRanks ranks_;
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_layer_recency(PolicyShape shape) { return std::make_unique<LayerRecency>(shape); }

}  // namespace sluice
