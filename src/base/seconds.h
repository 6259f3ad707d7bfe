// Times of the steady clock in seconds.
#pragma once

#include <chrono>

namespace sluice {

inline double in_seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}
inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return in_seconds(std::chrono::steady_clock::now() - begin);
}

}  // namespace sluice
