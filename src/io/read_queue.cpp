// Landings: a mailbox. See read_queue.h.
#include "io/read_queue.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace sluice {

struct Landings::Box {
  std::mutex mutex;
  std::condition_variable arrived;
  std::deque<Landed> landed;
  std::atomic<bool> any = false;  // whether there are some: who polls before every step need not lock for nothing

  Landed take() {
    Landed first = std::move(landed.front());
    landed.pop_front();
    any.store(!landed.empty(), std::memory_order_relaxed);
    return first;
  }
};

Landings::Landings() : box_(std::make_unique<Box>()) {}
Landings::~Landings() = default;

Landed Landings::wait() {
  std::unique_lock lock(box_->mutex);
  box_->arrived.wait(lock, [&] { return !box_->landed.empty(); });
  return box_->take();
}

bool Landings::poll(Landed& out) {
  if (!box_->any.load(std::memory_order_relaxed)) return false;
  const std::scoped_lock lock(box_->mutex);
  if (box_->landed.empty()) return false;
  out = box_->take();
  return true;
}

bool Landings::wait_for(Landed& out, std::chrono::milliseconds patience) {
  std::unique_lock lock(box_->mutex);
  if (!box_->arrived.wait_for(lock, patience, [&] { return !box_->landed.empty(); })) return false;
  out = box_->take();
  return true;
}

void Landings::land(Landed landed) {
  // Notified under the lock: the waiter may destroy the box as soon as it has its last landing.
  const std::scoped_lock lock(box_->mutex);
  box_->landed.push_back(std::move(landed));
  box_->any.store(true, std::memory_order_relaxed);
  box_->arrived.notify_one();
}

}  // namespace sluice
