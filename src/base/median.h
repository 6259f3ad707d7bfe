// The median of measurements.
#pragma once

#include <algorithm>
#include <vector>

namespace sluice {

// Of an even number the upper one of the two in the middle. Requires: there are some.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace sluice
