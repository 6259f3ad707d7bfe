// A resident block that cannot be evicted while this object lives: the only door to weights.
#pragma once

#include <utility>

#include "checkpoint/block.h"

namespace sluice {

// Who a lease is returned to.
class LeaseHome {
 public:
  virtual void release(int slot) = 0;

 protected:
  ~LeaseHome() = default;
};

class Lease {  // move-only
 public:
  Lease() = default;
  // `layout` must live as long as the lease.
  Lease(LeaseHome* home, int slot, const std::byte* base, const BlockLayout* layout)
      : home_(home), slot_(slot), base_(base), layout_(layout) {}
  Lease(Lease&& other) noexcept { swap(other); }
  Lease& operator=(Lease&& other) noexcept {
    Lease(std::move(other)).swap(*this);
    return *this;
  }
  ~Lease() {
    if (home_ != nullptr) home_->release(slot_);
  }

  // The same block for somebody else, who gives it back to `home`; this lease must live until then.
  Lease lent_by(LeaseHome* home, int slot) const { return {home, slot, base_, layout_}; }

  WeightView operator[](int tensor) const { return layout_->view(base_, tensor); }

 private:
  void swap(Lease& other) noexcept {
    std::swap(home_, other.home_);
    std::swap(slot_, other.slot_);
    std::swap(base_, other.base_);
    std::swap(layout_, other.layout_);
  }

  LeaseHome* home_ = nullptr;
  int slot_ = -1;
  const std::byte* base_ = nullptr;
  const BlockLayout* layout_ = nullptr;
};

}  // namespace sluice
