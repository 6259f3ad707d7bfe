// See expected_use.h.
#include "residency/policies/expected_use.h"

#include <vector>

#include "residency/policies/candidates.h"

namespace sluice {

namespace {

constexpr double kDecay = 0.9;          // per step of the layer
constexpr double kLargestUnit = 1e200;  // a layer's numbers are divided by its unit before it outgrows this

// Decay without touching every expert at every step: uses are counted in a unit that grows by 1/0.9 a step, so that
// old uses shrink by themselves.
class ExpectedUse final : public EvictionPolicy {
 public:
  explicit ExpectedUse(PolicyShape shape)
      : layers_(shape.layers),
        experts_(shape.experts),
        key_of_slot_(static_cast<std::size_t>(shape.slots), 0),
        uses_(static_cast<std::size_t>(shape.layers) * static_cast<std::size_t>(shape.experts), 0),
        unit_(static_cast<std::size_t>(shape.layers), 1),
        seen_(static_cast<std::size_t>(shape.layers), 0) {}

  void requested(int layer, std::span<const int> experts) override {
    candidates_.forget();
    now_ = layer;
    double& unit = unit_[static_cast<std::size_t>(layer)];
    double& seen = seen_[static_cast<std::size_t>(layer)];
    unit /= kDecay;
    seen = seen * kDecay + 1;
    for (const int expert : experts) uses_[key({layer, expert})] += unit;
    if (unit > kLargestUnit) {
      const std::size_t first = key({layer, 0});
      for (std::size_t expert = first; expert < first + static_cast<std::size_t>(experts_); ++expert)
        uses_[expert] /= unit;
      unit = 1;
    }
  }
  void filled(int slot, ExpertKey expert) override { key_of_slot_[static_cast<std::size_t>(slot)] = key(expert); }
  int victim(std::span<const int> evictable) override {
    return candidates_.next(evictable, [&](int slot) {
      const std::size_t expert = key_of_slot_[static_cast<std::size_t>(slot)];
      return Candidate{distance(expert), static_cast<std::int64_t>(expert), slot};
    });
  }

 private:
  std::size_t key(ExpertKey expert) const {
    return static_cast<std::size_t>(expert.layer) * static_cast<std::size_t>(experts_) +
           static_cast<std::size_t>(expert.expert);
  }
  // Expected number of layers until the next use. A resident expert has been used, so p > 0.
  double distance(std::size_t expert) const {
    const std::size_t layer = expert / static_cast<std::size_t>(experts_);
    const int until = (static_cast<int>(layer) - now_ + layers_ - 1) % layers_ + 1;  // 1 .. layers
    const double p = uses_[expert] / (unit_[layer] * seen_[layer]);
    return until + layers_ * (1 / p - 1);
  }

  int layers_, experts_;
  int now_ = 0;  // the layer of the request in hand
  std::vector<std::size_t> key_of_slot_;
  std::vector<double> uses_;  // [layers * experts], in units of the layer
  std::vector<double> unit_;  // [layers], what a use counts now
  std::vector<double> seen_;  // [layers], what an expert used at every step would have
  Candidates candidates_;
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_expected_use(PolicyShape shape) { return std::make_unique<ExpectedUse>(shape); }

}  // namespace sluice
