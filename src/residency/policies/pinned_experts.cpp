// See pinned_experts.h.
#include "residency/policies/pinned_experts.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "residency/policies/blended_use.h"

namespace sluice {

namespace {

constexpr float kMargin = 1.5f;      // what is pinned stays unless another was used so many times as much
constexpr float kTurnFade = 0.9f;    // what uses of a turn count, of those of the turn after it
constexpr float kForgotten = 0.01f;  // faded uses below this are none
constexpr double kHistory = 256;     // what earlier runs count at most, in requests of a layer

}  // namespace

PinnedExperts::PinnedExperts(std::unique_ptr<EvictionPolicy> inside, PolicyShape shape)
    : inside_(std::move(inside)),
      shape_(shape),
      uses_(static_cast<std::size_t>(shape.layers) * static_cast<std::size_t>(shape.experts), 0),
      rank_(uses_.size(), kUnpinned),
      slot_of_(uses_.size(), -1) {}

void PinnedExperts::begin_with(std::span<const std::uint32_t> uses) {
  SLUICE_CHECK(uses.size() == uses_.size());
  inside_->begin_with(uses);
  double all = 0;
  for (const std::uint32_t one : uses) all += one;
  if (all == 0) return;
  const double scale = std::min(1.0, kHistory * shape_.top_k * shape_.layers / all);
  for (std::size_t expert = 0; expert < uses.size(); ++expert)
    uses_[expert] += static_cast<float>(uses[expert] * scale);
  choose();
}

void PinnedExperts::requested(int layer, std::span<const ExpertUse> uses) {
  const int pins = this->pins();
  for (const ExpertUse& use : uses) {
    const std::size_t expert = index_of({layer, use.expert}, shape_.experts);
    uses_[expert] += 1;
    if (is_pinned(expert, pins) && slot_of_[expert] >= 0) ++hits_;
  }
  inside_->requested(layer, uses);
}

void PinnedExperts::filled(int slot, ExpertKey key) {
  const auto index = static_cast<std::size_t>(slot);
  if (index >= where_.size()) where_.resize(index + 1, kNowhere);
  const ExpertKey before = std::exchange(where_[index], key);
  if (before == kNowhere) {
    ++held_;
  } else if (int& place = slot_of_[index_of(before, shape_.experts)]; place == slot) {
    place = -1;  // its read failed
  }
  slot_of_[index_of(key, shape_.experts)] = slot;
  inside_->filled(slot, key);
}

int PinnedExperts::victim(FunctionRef<bool(int slot)> may_go) {
  const int pins = this->pins();
  const auto unpinned_may_go = [&](int slot) {
    return may_go(slot) && !is_pinned(index_of(where_[static_cast<std::size_t>(slot)], shape_.experts), pins);
  };
  bool found = false;
  for (std::size_t looked = 0; looked < where_.size() && !found; ++looked) {
    const std::size_t slot = (look_from_ + looked) % where_.size();
    found = where_[slot] != kNowhere && unpinned_may_go(static_cast<int>(slot));
    if (found) look_from_ = slot;
  }
  const int slot = found ? inside_->victim(unpinned_may_go) : inside_->victim(may_go);
  const ExpertKey gone = std::exchange(where_[static_cast<std::size_t>(slot)], kNowhere);
  if (int& place = slot_of_[index_of(gone, shape_.experts)]; place == slot) place = -1;
  --held_;
  return slot;
}

void PinnedExperts::between_turns() {
  choose();
  for (float& uses : uses_) uses = uses * kTurnFade < kForgotten ? 0 : uses * kTurnFade;
  inside_->between_turns();
}

int PinnedExperts::pins() const {
  return std::min(chosen_, static_cast<int>(std::int64_t{held_} * shape_.pin_percent / 100));
}

void PinnedExperts::choose() {
  std::vector<std::uint32_t> order;  // of the experts in use; sorted as far as there is room
  for (std::size_t expert = 0; expert < uses_.size(); ++expert)
    if (uses_[expert] > 0) order.push_back(static_cast<std::uint32_t>(expert));
  const auto room = static_cast<std::size_t>(std::int64_t{shape_.slots} * shape_.pin_percent / 100);
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min(room, order.size()));
  const auto worth = [this](std::uint32_t expert) {
    return uses_[expert] * (rank_[expert] == kUnpinned ? 1 : kMargin);
  };
  std::ranges::partial_sort(order, end, [&](std::uint32_t left, std::uint32_t right) {
    if (worth(left) != worth(right)) return worth(left) > worth(right);
    return rank_[left] != rank_[right] ? rank_[left] < rank_[right] : left < right;
  });
  std::ranges::fill(rank_, kUnpinned);
  chosen_ = 0;
  for (auto expert = order.begin(); expert != end; ++expert) rank_[*expert] = static_cast<std::uint32_t>(chosen_++);
}

std::unique_ptr<EvictionPolicy> make_pinned_experts(PolicyShape shape) {
  return std::make_unique<PinnedExperts>(make_blended_use(shape), shape);
}

}  // namespace sluice
