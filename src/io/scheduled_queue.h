// What the read queues have in common: a schedule behind a lock, and how requests get in and landings out.
//
// A queue adds what reads: it takes pieces, reads them and finishes them.
#pragma once

#include <memory>
#include <mutex>

#include "io/read_queue.h"
#include "io/read_schedule.h"

namespace sluice {

class ScheduledQueue : public ReadQueue {
 public:
  void submit(std::uint64_t tag, std::span<const Extent> extents, std::span<std::byte> slot, Urgency urgency,
              Landings& landings) final;
  void withdraw(std::uint64_t tag, const Landings& landings) final;
  void hurry(std::uint64_t tag, const Landings& landings) final;
  ReadStats stats() const final;
  const Files& files() const final { return sources_.files(0); }

 protected:
  using Clock = ReadSchedule::Clock;
  explicit ScheduledQueue(ReadSources& sources) : sources_(sources), schedule_(sources) {}

  // There is something to take. Called without the lock.
  virtual void wake() = 0;
  // Called and left with the lock held; without it in between. The requester may be gone afterwards.
  void finish(std::unique_lock<std::mutex>& lock, ReadPiece piece, Result<> status);

  ReadSources& sources_;
  mutable std::mutex mutex_;
  ReadSchedule schedule_;  // guarded by mutex_
};

}  // namespace sluice
