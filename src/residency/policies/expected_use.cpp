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
        held_(static_cast<std::size_t>(shape.slots)),
        uses_(static_cast<std::size_t>(shape.layers) * static_cast<std::size_t>(shape.experts), 0),
        unit_(static_cast<std::size_t>(shape.layers), 1),
        seen_(static_cast<std::size_t>(shape.layers), 0),
        terms_(static_cast<std::size_t>(shape.layers)) {}

  void requested(int layer, std::span<const int> experts) override {
    candidates_.forget();
    stale_ = true;
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
  void filled(int slot, ExpertKey expert) override {
    held_[static_cast<std::size_t>(slot)] = {static_cast<std::size_t>(expert.layer), key(expert)};
  }
  int victim(std::span<const int> evictable) override {
    if (stale_) prepare_terms();
    return candidates_.next(evictable, [&](int slot) {
      const Held& mine = held_[static_cast<std::size_t>(slot)];
      const Terms& terms = terms_[mine.layer];
      return Candidate{terms.constant + terms.per_use / uses_[mine.key], static_cast<std::int64_t>(mine.key), slot};
    });
  }

 private:
  struct Held {
    std::size_t layer = 0, key = 0;
  };
  struct Terms {
    double constant = 0, per_use = 0;
  };

  std::size_t key(ExpertKey expert) const {
    return static_cast<std::size_t>(expert.layer) * static_cast<std::size_t>(experts_) +
           static_cast<std::size_t>(expert.expert);
  }
  // Expected number of layers until the next use of an expert of each layer: constant + per_use / uses. That is
  // until + L * (1/p - 1) with p = uses / (unit * seen). A resident expert has been used, so uses > 0.
  void prepare_terms() {
    stale_ = false;
    for (int layer = 0; layer < layers_; ++layer) {
      const auto index = static_cast<std::size_t>(layer);
      const int until = (layer - now_ + layers_ - 1) % layers_ + 1;  // 1 .. layers
      terms_[index] = {static_cast<double>(until - layers_), layers_ * unit_[index] * seen_[index]};
    }
  }

  int layers_, experts_;
  int now_ = 0;               // the layer of the request in hand
  bool stale_ = true;         // terms_ are of an earlier request
  std::vector<Held> held_;    // by slot
  std::vector<double> uses_;  // [layers * experts], in units of the layer
  std::vector<double> unit_;  // [layers], what a use counts now
  std::vector<double> seen_;  // [layers], what an expert used at every step would have
  std::vector<Terms> terms_;  // [layers]
  Candidates candidates_;
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_expected_use(PolicyShape shape) { return std::make_unique<ExpectedUse>(shape); }

}  // namespace sluice
