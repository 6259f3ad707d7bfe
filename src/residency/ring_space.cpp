// See ring_space.h.
#include "residency/ring_space.h"

#include <algorithm>

#include "base/check.h"

namespace sluice {

std::vector<RingSpace::Run> RingSpace::gaps() const {
  std::vector<Run> gaps;
  std::uint64_t at = 0;
  for (const Run& run : taken_) {
    if (run.begin > at) gaps.push_back({at, run.begin});
    at = run.end;
  }
  if (at < bytes_) gaps.push_back({at, bytes_});
  return gaps;
}

// On from the last run, else from the bottom again.
std::optional<std::uint64_t> RingSpace::round_the_ring(std::uint64_t bytes) const {
  std::optional<std::uint64_t> lowest;
  for (const Run& gap : gaps()) {
    const std::uint64_t begin = std::max(gap.begin, cursor_);
    if (begin <= gap.end && gap.end - begin >= bytes) return begin;
    if (!lowest && gap.end - gap.begin >= bytes) lowest = gap.begin;
  }
  return lowest;
}

// As low (or as high) as possible, with room for a largest run above (or below).
std::optional<std::uint64_t> RingSpace::at_an_end(std::uint64_t bytes, bool high) const {
  std::optional<std::uint64_t> found;
  for (const Run& gap : gaps()) {
    if (gap.end - gap.begin < bytes) continue;
    if (high && gap.end - bytes >= largest_) found = gap.end - bytes;
    if (!high && !found && gap.begin + bytes + largest_ <= bytes_) found = gap.begin;
  }
  return found;
}

std::optional<std::uint64_t> RingSpace::take(std::uint64_t bytes) {
  if (taken_.empty()) cursor_ = 0;
  std::optional<std::uint64_t> offset;
  if (bytes_ < 3 * largest_) {
    offset = at_an_end(bytes, high_end_);
    if (!offset) offset = at_an_end(bytes, !high_end_);
    high_end_ = !high_end_;
  }
  const bool may_crowd = bytes_ >= 3 * largest_ || bytes_ < 2 * largest_;  // the promise holds anyway, or cannot
  if (!offset && may_crowd) offset = round_the_ring(bytes);
  if (!offset) return std::nullopt;
  cursor_ = *offset + bytes;
  const auto place = std::ranges::find_if(taken_, [&](const Run& run) { return run.begin > *offset; });
  taken_.insert(place, {*offset, *offset + bytes});
  return offset;
}

void RingSpace::give_back(std::uint64_t offset) {
  const auto run = std::ranges::find_if(taken_, [&](const Run& r) { return r.begin == offset; });
  SLUICE_CHECK(run != taken_.end());
  taken_.erase(run);
}

}  // namespace sluice
