// How long tasks have stalled for want of memory, as the kernel counts it (pressure stall information): of this
// process's control group, and of the whole system.
//
// It shows what a number of available bytes does not: that pages which are in use have to be read again and again.
// Where the kernel does not tell of it there is no pressure. Used by one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "residency/machine.h"

namespace sluice {

class PressureGauge {
 public:
  using Clock = std::chrono::steady_clock;
  // A share is that of at least so long.
  static constexpr std::chrono::milliseconds kWindow{1000};

  explicit PressureGauge(const MemoryFolders& folders);

  // The share of the last window in which at least one task stalled for memory, the larger one of group and system;
  // between windows the last one's. 0 until a window is over, and where nothing is told.
  double stalled_share(Clock::time_point now);
  bool tells() const { return !sources_.empty(); }

 private:
  struct Source {
    std::string path;
    std::uint64_t stalled_microseconds = 0;
  };

  std::vector<Source> sources_;
  std::optional<Clock::time_point> window_began_;
  double share_ = 0;
};

}  // namespace sluice
