// See read_ahead_governor.h.
#include "engine/read_ahead_governor.h"

namespace sluice {

void ReadAheadGovernor::step(double seconds, double disk_busy, double waited) {
  seconds_ += seconds;
  disk_busy_ += disk_busy;
  waited_ += waited;
  if (++steps_ < kSteps) return;
  const double computed = seconds_ - waited_;
  const auto busy_for = [&](double share) { return disk_busy_ > share * computed; };
  if (seconds_ < kSteps * kLeastSeconds || !busy_for(kIdle) || busy_for(kTooBusy))
    reads_named_ = false;
  else if (busy_for(kWorth) && !busy_for(kBusy))
    reads_named_ = true;
  steps_ = 0;
  seconds_ = disk_busy_ = waited_ = 0;
}

}  // namespace sluice
