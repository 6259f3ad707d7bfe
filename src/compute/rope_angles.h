// Sines and cosines of rotary positions: pair j of a vector at position p turns by p · inv_j radians.
//
// Computed for the rows of a batch, once a pass, instead of kept for every position: a million positions of 64 numbers
// would be a quarter of a gigabyte. In double by base/exact_math and rounded once, so a row depends on its position
// alone and has the same bits on every machine.
#pragma once

#include <vector>

#include "base/rows.h"

namespace sluice {

class RopeAngles {
 public:
  // inv_j = theta^(-2 j / dim) for the dim / 2 pairs. Requires: dim is even, theta > 0.
  RopeAngles(double theta, int dim);
  // Frequencies of one's own, such as YaRN's.
  explicit RopeAngles(std::vector<double> inverse) : inverse_(std::move(inverse)) {}

  int pairs() const { return static_cast<int>(inverse_.size()); }

  // Rows t of cos and sin [rows, pairs] become those of position first + t. Requires: last position · inv_j <= 2^29.
  void fill(int first, Rows cos, Rows sin) const;

 private:
  std::vector<double> inverse_;  // radians a position
};

}  // namespace sluice
