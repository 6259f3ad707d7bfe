// How long operations on numbers take, and what it takes to time them.
//
// A look at the clock takes as long as a small operation, so what looking costs is measured beforehand and taken out of
// what is told. Used by the engine's thread.
#pragma once

#include <cstdint>

#include "compute/watched_ops.h"
#include "engine/profile.h"

namespace sluice {

class OperationClock {
 public:
  // `profile`, if there is one, is told of every operation. Both must outlive the clock.
  OperationClock(Ops& timed, Profile* profile);
  OperationClock(const OperationClock&) = delete;
  OperationClock& operator=(const OperationClock&) = delete;

  Ops& ops() { return watched_; }  // the same operations, timed
  // Seconds so far.
  double spent() const { return seconds_ - static_cast<double>(operations_) * seen_of_a_look_; }
  double watching() const { return static_cast<double>(operations_) * all_of_a_look_; }

 private:
  void measure_looking();

  Profile* profile_;
  WatchedOps watched_;
  double seconds_ = 0;  // as the clock says, with a part of what it takes to look
  std::uint64_t operations_ = 0;
  double seen_of_a_look_ = 0, all_of_a_look_ = 0;
};

}  // namespace sluice
