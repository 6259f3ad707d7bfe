// See memory_governor.h.
#include "residency/memory_governor.h"

#include <algorithm>

namespace sluice {

namespace {

constexpr std::uint64_t kReserveShare = 50;
constexpr std::uint64_t kLeastReserve = std::uint64_t{16} << 20, kMostReserve = std::uint64_t{1} << 30;
constexpr std::chrono::seconds kCalm{10};  // from the last change to the next growth
constexpr int kGrowthShare = 8;            // of all slots, at a time

}  // namespace

MemoryGovernor::MemoryGovernor(GovernedCache cache, std::uint64_t total_bytes)
    : cache_(cache),
      reserve_(std::clamp(total_bytes / kReserveShare, kLeastReserve, kMostReserve)),
      slots_(cache.most) {}

int MemoryGovernor::slots(std::uint64_t available_bytes, int filled, Clock::time_point now) {
  const std::uint64_t slot = std::max<std::uint64_t>(1, cache_.slot_bytes);
  if (available_bytes < reserve_) {
    const std::uint64_t lacking = 2 * reserve_ - available_bytes;
    const auto give_back =
        static_cast<int>(std::min<std::uint64_t>((lacking + slot - 1) / slot, static_cast<std::uint64_t>(cache_.most)));
    slots_ = std::clamp(std::min(filled, slots_) - give_back, std::min(cache_.fewest, slots_), slots_);
    shrunk_ = slots_ < cache_.most;
    last_change_ = now;
  } else if (shrunk_ && available_bytes > 3 * reserve_ && now - last_change_ >= kCalm) {
    // Half of what is free beyond the point of calm, so that it stays beyond it.
    const auto fitting = static_cast<int>(
        std::min<std::uint64_t>((available_bytes - 2 * reserve_) / 2 / slot, static_cast<std::uint64_t>(cache_.most)));
    const int growth = std::min(fitting, std::max(1, cache_.most / kGrowthShare));
    if (growth > 0) last_change_ = now;
    slots_ = std::min(slots_ + growth, cache_.most);
    shrunk_ = slots_ < cache_.most;
  }
  return slots_;
}

}  // namespace sluice
