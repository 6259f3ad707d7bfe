// See lru.h.
#include "residency/policies/lru.h"

#include <vector>

#include "residency/policies/layer_ranks.h"

namespace sluice {

namespace {

class Lru final : public EvictionPolicy {
 public:
  explicit Lru(PolicyShape shape)
      : experts_(shape.experts),
        last_use_(static_cast<std::size_t>(shape.layers) * static_cast<std::size_t>(shape.experts), 0),
        ranks_(shape.layers) {}

  void requested(int layer, std::span<const ExpertUse> uses) override {
    ++request_;
    for (const ExpertUse& use : uses) last_use_[index_of({layer, use.expert}, experts_)] = request_;
    ranks_.requested(layer);
  }
  void filled(int slot, ExpertKey key) override { ranks_.filled(slot, key); }
  int victim(FunctionRef<bool(int)> may_go) override {
    return ranks_.victim(
        may_go, [&](ExpertKey key) { return static_cast<double>(last_use_[index_of(key, experts_)]); },
        [](int, double value) { return -value; });
  }

 private:
  int experts_;
  std::uint64_t request_ = 0;
  std::vector<std::uint64_t> last_use_;  // [layers * experts], number of the request
  LayerRanks ranks_;
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_lru(PolicyShape shape) { return std::make_unique<Lru>(shape); }

}  // namespace sluice
