// Room for runs of different sizes in a ring of bytes: offsets only, no memory.
//
// Runs come and go about in order. The promise: with room for two largest runs, the next run always fits once the one
// in use is the only one. With room for three that holds by itself, and runs are placed one after the other round the
// ring. Below, a run is placed only where it leaves room for a largest one on one side of it, at alternate ends.
// A ring of exactly the largest run holds any one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace sluice {

class RingSpace {
 public:
  RingSpace() = default;
  RingSpace(std::uint64_t bytes, std::uint64_t largest_run) : bytes_(bytes), largest_(largest_run) {}

  // The offset of a free run, now taken; nothing if there is no room. An empty ring has room for all of its bytes.
  std::optional<std::uint64_t> take(std::uint64_t bytes);
  void give_back(std::uint64_t offset);  // Requires: taken.

 private:
  struct Run {
    std::uint64_t begin = 0, end = 0;
  };
  std::vector<Run> gaps() const;  // in rising order
  std::optional<std::uint64_t> round_the_ring(std::uint64_t bytes) const;
  std::optional<std::uint64_t> at_an_end(std::uint64_t bytes, bool high) const;

  std::uint64_t bytes_ = 0, largest_ = 0;
  bool high_end_ = false;     // where the next run is placed, if runs are placed at ends
  std::uint64_t cursor_ = 0;  // end of the last run
  std::vector<Run> taken_;    // in rising order
};

}  // namespace sluice
