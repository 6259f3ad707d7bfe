// A stored matrix as it lies in memory: format, shape and where its bytes are. Owns nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

enum class FormatId : std::uint8_t { f32, bf16, mxfp4 };

// [rows, cols] = [out, in]. A vector of n numbers is [1, n].
struct Shape {
  int rows = 0, cols = 0;
  bool operator==(const Shape&) const = default;
};

struct WeightView {
  FormatId format = FormatId::f32;
  Shape shape;
  const std::byte* weights = nullptr;  // any alignment
  const std::byte* scales = nullptr;   // null where the format has none

  // Rows [first, first + count) as a matrix of their own. Requires: inside the matrix. (format.h; rows never share
  // bytes)
  WeightView row_slice(int first, int count) const;
};

}  // namespace sluice
