// encode_rows of a format that stores each row by itself.
#pragma once

#include "formats/format.h"

namespace sluice {

// Encode: void(std::span<const float> row, std::byte* weights, std::byte* scales).
template <auto kWeightBytes, auto kScaleBytes, auto kEncode>
void encode_by_rows(std::span<const float> in, Shape shape, std::byte* weights, std::byte* scales) {
  const auto cols = static_cast<std::size_t>(shape.cols);
  for (int row = 0; row < shape.rows; ++row) {
    kEncode(in.subspan(static_cast<std::size_t>(row) * cols, cols), weights, scales);
    weights += kWeightBytes(shape.cols);
    if (scales != nullptr) scales += kScaleBytes(shape.cols);
  }
}

}  // namespace sluice
