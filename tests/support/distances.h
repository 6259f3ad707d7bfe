// How far numbers of a run are from those of an oracle.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>

namespace sluice::test {

inline double l2(std::span<const float> values) {
  double sum = 0;
  for (float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum);
}

// ‖ours − theirs‖ / ‖theirs‖
inline double distance(std::span<const float> ours, std::span<const double> theirs) {
  double difference = 0, size = 0;
  for (std::size_t index = 0; index < theirs.size(); ++index) {
    const double gap = static_cast<double>(ours[index]) - theirs[index];
    difference += gap * gap;
    size += theirs[index] * theirs[index];
  }
  return std::sqrt(difference / size);
}

}  // namespace sluice::test
