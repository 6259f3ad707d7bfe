// See scheduled_queue.h.
#include "io/scheduled_queue.h"

#include <utility>

namespace sluice {

namespace {

void report(ReadRequest& request) {
  Landings& landings = *request.landings;
  landings.land(request.landed());
}

}  // namespace

void ScheduledQueue::submit(std::uint64_t tag, std::span<const Extent> extents, std::span<std::byte> slot,
                            Urgency urgency, Landings& landings) {
  std::shared_ptr<ReadRequest> request = schedule_.request(tag, extents, slot, landings);
  const bool nothing_to_read = request == nullptr;
  {
    const std::scoped_lock lock(mutex_);
    if (nothing_to_read)
      schedule_.add_nothing();
    else
      schedule_.add(std::move(request), urgency, extents);
  }
  if (nothing_to_read)
    landings.land({tag, {}});
  else
    wake();
}

void ScheduledQueue::withdraw(std::uint64_t tag, const Landings& landings) {
  std::shared_ptr<ReadRequest> due;
  {
    const std::scoped_lock lock(mutex_);
    due = schedule_.withdraw(tag, landings);
  }
  if (due != nullptr) report(*due);
}

void ScheduledQueue::hurry(std::uint64_t tag, const Landings& landings) {
  const std::scoped_lock lock(mutex_);
  schedule_.hurry(tag, landings);
}

ReadStats ScheduledQueue::stats() const {
  const std::scoped_lock lock(mutex_);
  return schedule_.stats(Clock::now());
}

void ScheduledQueue::finish(std::unique_lock<std::mutex>& lock, ReadPiece piece, Result<> status) {
  const std::shared_ptr<ReadRequest> due = schedule_.finish(std::move(piece), std::move(status), Clock::now());
  if (due == nullptr) return;
  lock.unlock();
  report(*due);
  lock.lock();
}

}  // namespace sluice
