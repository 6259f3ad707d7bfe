// See lfu.h.
#include "residency/policies/lfu.h"

#include <vector>

#include "residency/policies/layer_ranks.h"

namespace sluice {

namespace {

class Lfu final : public EvictionPolicy {
 public:
  explicit Lfu(PolicyShape shape)
      : experts_(shape.experts),
        worth_(static_cast<std::size_t>(shape.layers) * static_cast<std::size_t>(shape.experts), 0),
        ranks_(shape.layers) {}

  void requested(int layer, std::span<const ExpertUse> uses) override {
    ++request_;
    for (const ExpertUse& use : uses) {
      double& worth = worth_[index_of({layer, use.expert}, experts_)];
      worth = static_cast<double>(static_cast<std::uint64_t>(worth) + 1) + static_cast<double>(request_) * kAge;
    }
    ranks_.requested(layer);
  }
  void filled(int slot, ExpertKey key) override { ranks_.filled(slot, key); }
  int victim(FunctionRef<bool(int)> may_go) override {
    return ranks_.victim(
        may_go, [&](ExpertKey key) { return worth_[index_of(key, experts_)]; },
        [](int, double value) { return -value; });
  }

 private:
  // Requests as a fraction of one use: a tie is broken by age for the first thousand million of them.
  static constexpr double kAge = 1.0 / (1 << 30);

  int experts_;
  std::uint64_t request_ = 0;
  std::vector<double> worth_;  // [layers * experts], uses + age of the last one
  LayerRanks ranks_;
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_lfu(PolicyShape shape) { return std::make_unique<Lfu>(shape); }

}  // namespace sluice
