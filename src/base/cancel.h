// A flag that asks running work to stop at its next safe point (between steps, between reads).
// Set from any thread or from a signal handler; read by the thread that works.
#pragma once

#include <atomic>

#include "base/result.h"

namespace sluice {

class CancelFlag {
 public:
  void request() noexcept { requested_.store(true, std::memory_order_relaxed); }
  // Ready for the next piece of work; a request that comes meanwhile may be lost.
  void clear() noexcept { requested_.store(false, std::memory_order_relaxed); }
  bool requested() const noexcept { return requested_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> requested_{false};
  static_assert(std::atomic<bool>::is_always_lock_free);
};

// For the safe points of what cannot be finished: fails as `cancelled` once it is requested. Null: nobody can.
inline Result<> unless_requested(const CancelFlag* cancel) {
  if (cancel != nullptr && cancel->requested()) return fail(ErrorKind::cancelled, "interrupted");
  return {};
}

}  // namespace sluice
