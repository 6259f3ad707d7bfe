// See lru.h.
#include "residency/policies/lru.h"

#include <vector>

#include "residency/policies/candidates.h"

namespace sluice {

namespace {

class Lru final : public EvictionPolicy {
 public:
  explicit Lru(PolicyShape shape)
      : experts_(shape.experts),
        key_of_slot_(static_cast<std::size_t>(shape.slots), 0),
        last_use_(static_cast<std::size_t>(shape.layers) * static_cast<std::size_t>(shape.experts), 0) {}

  void requested(int layer, std::span<const int> experts) override {
    candidates_.forget();
    ++request_;
    for (const int expert : experts) last_use_[key({layer, expert})] = request_;
  }
  void filled(int slot, ExpertKey expert) override { key_of_slot_[static_cast<std::size_t>(slot)] = key(expert); }
  int victim(std::span<const int> evictable) override {
    return candidates_.next(evictable, [&](int slot) {
      const std::size_t expert = key_of_slot_[static_cast<std::size_t>(slot)];
      return Candidate{-static_cast<double>(last_use_[expert]), static_cast<std::int64_t>(expert), slot};
    });
  }

 private:
  std::size_t key(ExpertKey expert) const {
    return static_cast<std::size_t>(expert.layer) * static_cast<std::size_t>(experts_) +
           static_cast<std::size_t>(expert.expert);
  }

  int experts_;
  std::uint64_t request_ = 0;
  std::vector<std::size_t> key_of_slot_;
  std::vector<std::uint64_t> last_use_;  // [layers * experts], number of the request
  Candidates candidates_;
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_lru(PolicyShape shape) { return std::make_unique<Lru>(shape); }

}  // namespace sluice
