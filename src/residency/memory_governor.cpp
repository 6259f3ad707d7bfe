// See memory_governor.h.
#include "residency/memory_governor.h"

#include <algorithm>

namespace sluice {

namespace {

constexpr std::uint64_t kReserveShare = 50;
constexpr std::uint64_t kLeastReserve = std::uint64_t{16} << 20, kMostReserve = std::uint64_t{1} << 30;
constexpr std::chrono::seconds kCalm{10};  // from the last change to the next growth
constexpr int kGrowthShare = 8;            // of all slots, at a time
// Of the time: a task that waits so much for memory is slowed down badly. systemd-oomd lets groups go at 0.6 of half a
// minute; whoever holds memory that can be read again should give way long before.
constexpr double kStalled = 0.1;
constexpr std::uint64_t kStallReserves = 4;
constexpr std::chrono::seconds kStallPause{1};                      // for what was given back to show
constexpr std::chrono::seconds kStallCalm{60};                      // from the last stall to the next growth
constexpr double kTakenPerSecond = 8.0 * (std::uint64_t{1} << 30);  // by others, at most: pages are zeroed no faster

}  // namespace

MemoryGovernor::MemoryGovernor(GovernedCache cache, std::uint64_t total_bytes)
    : cache_(cache),
      reserve_(std::clamp(total_bytes / kReserveShare, kLeastReserve, kMostReserve)),
      slots_(cache.most) {}

void MemoryGovernor::give_back(std::uint64_t bytes, int filled, Clock::time_point now) {
  const std::uint64_t slot = std::max<std::uint64_t>(1, cache_.slot_bytes);
  const auto slots =
      static_cast<int>(std::min<std::uint64_t>((bytes + slot - 1) / slot, static_cast<std::uint64_t>(cache_.most)));
  slots_ = std::clamp(std::min(filled, slots_) - slots, std::min(cache_.fewest, slots_), slots_);
  shrunk_ = slots_ < cache_.most;
  last_change_ = now;
}

int MemoryGovernor::slots(std::uint64_t available_bytes, double stalled_share, int filled, Clock::time_point now) {
  const bool stalls = stalled_share >= kStalled && available_bytes < kStallReserves * reserve_;
  const bool may_grow = now - last_change_ >= kCalm && (!stalled_ || now - last_stall_ >= kStallCalm);
  if (available_bytes < reserve_) {
    give_back(2 * reserve_ - available_bytes, filled, now);
  } else if (stalls) {
    if (!stalled_ || now - last_stall_ >= kStallPause) {
      give_back(reserve_, filled, now);
      last_stall_ = now;
      stalled_ = true;
    }
  } else if (shrunk_ && available_bytes > 3 * reserve_ && may_grow) {
    // Half of what is free beyond the point of calm, so that it stays beyond it.
    const std::uint64_t slot = std::max<std::uint64_t>(1, cache_.slot_bytes);
    const auto fitting = static_cast<int>(
        std::min<std::uint64_t>((available_bytes - 2 * reserve_) / 2 / slot, static_cast<std::uint64_t>(cache_.most)));
    const int growth = std::min(fitting, std::max(1, cache_.most / kGrowthShare));
    if (growth > 0) last_change_ = now;
    slots_ = std::min(slots_ + growth, cache_.most);
    shrunk_ = slots_ < cache_.most;
  }
  return slots_;
}

MemoryGovernor::Clock::duration MemoryGovernor::pause(std::uint64_t available_bytes) const {
  const std::uint64_t calm = kStallReserves * reserve_;  // below it stalls count
  if (shrunk_ || available_bytes <= calm) return kLeastPause;
  const std::chrono::duration<double> taken(static_cast<double>(available_bytes - calm) / kTakenPerSecond);
  return std::clamp(std::chrono::duration_cast<Clock::duration>(taken), Clock::duration(kLeastPause),
                    Clock::duration(kMostPause));
}

}  // namespace sluice
