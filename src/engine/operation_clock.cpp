// See operation_clock.h.
#include "engine/operation_clock.h"

#include "base/seconds.h"

namespace sluice {

OperationClock::OperationClock(Ops& timed, Profile* profile)
    : profile_(profile), watched_(timed, [this](std::string_view name, Profile::Clock::time_point begin) {
        seconds_ += seconds_since(begin);
        ++operations_;
        if (profile_ != nullptr) profile_->add("operation", name, begin);
      }) {
  if (profile_ == nullptr) measure_looking();  // a profile would be told of it
}

void OperationClock::measure_looking() {
  constexpr int kLooks = 1000;
  for (int look = 0; look < kLooks; ++look) watched_.nothing();  // until everything is at hand
  seconds_ = 0;
  const Profile::Clock::time_point begin = Profile::Clock::now();
  for (int look = 0; look < kLooks; ++look) watched_.nothing();
  all_of_a_look_ = seconds_since(begin) / kLooks;
  seen_of_a_look_ = seconds_ / kLooks;
  seconds_ = 0;
  operations_ = 0;
}

}  // namespace sluice
