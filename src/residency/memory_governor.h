// How large the expert cache may be while others want memory too: it shrinks before the system has to kill somebody,
// and grows back when memory has been free for a while.
//
// Pure: it is told what the machine could still give and what the time is, and says a number of slots. Between the
// reserve that must stay available and twice as much nothing changes, and after each loss growth waits, so that two
// processes that watch each other do not swing. What is available is an estimate: where tasks stall for memory although
// it says that there is some left, the cache gives way too, a reserve at a time, as long as less than four of them are
// available. Stalls with more than that are somebody else's, whose own limit is too low: giving way would not help
// them.
#pragma once

#include <chrono>
#include <cstdint>

namespace sluice {

struct GovernedCache {
  std::uint64_t slot_bytes = 0;
  int fewest = 1, most = 1;  // slots
};

class MemoryGovernor {
 public:
  using Clock = std::chrono::steady_clock;

  // Starts with all slots. `total_bytes`: of the machine, or of the group that limits this process.
  MemoryGovernor(GovernedCache cache, std::uint64_t total_bytes);

  // The least that should stay available to the others: 2 % of the total, between 16 MiB and 1 GiB.
  std::uint64_t reserve_bytes() const { return reserve_; }
  // Slots that the cache may have from now on. `available_bytes`: what this process could still get; `stalled_share`:
  // of the time, that tasks stalled for memory; `filled`: slots that take memory now, which is what shrinking can give
  // back.
  int slots(std::uint64_t available_bytes, double stalled_share, int filled, Clock::time_point now);
  // From one look at what is available to the next: the longer, the more of it others would have to take before
  // anything changes. Short while the cache waits to grow back.
  Clock::duration pause(std::uint64_t available_bytes) const;
  static constexpr std::chrono::milliseconds kLeastPause{200}, kMostPause{1000};

 private:
  void give_back(std::uint64_t bytes, int filled, Clock::time_point now);

  GovernedCache cache_;
  std::uint64_t reserve_;
  int slots_;
  Clock::time_point last_change_{}, last_stall_{};
  bool shrunk_ = false;   // and has not grown back whole
  bool stalled_ = false;  // at some time
};

}  // namespace sluice
