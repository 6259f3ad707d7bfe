// A stored matrix as it lies in memory: format, shape and where its bytes are. Owns nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

// Indexes the list in format.cpp and the kernel tables.
enum class FormatId : std::uint8_t {
  f32,
  bf16,
  mxfp4,
  f16,
  fp8,       // E4M3, an fp32 scale for each 128 x 128 block
  fp8_e8m0,  // E4M3, an E8M0 scale for each 128 x 128 block
  int8,      // an fp32 scale for each row
  int4,      // the same
  int4g32,   // an fp32 scale for each 32 columns of a row
  int4g64,
  int4g128,
};
inline constexpr int kFormatCount = 11;

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
  int scale_phase = 0;  // rows that lie before this matrix in its first row of scales (Format::scale_rows share one)

  // Rows [first, first + count) as a matrix of their own. Requires: inside the matrix. (format.cpp)
  WeightView row_slice(int first, int count) const;
};

}  // namespace sluice
