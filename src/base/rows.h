// A view of activation vectors: `rows` vectors of `width` floats, `stride` floats apart. Owns nothing.
#pragma once

#include <cstddef>
#include <span>

namespace sluice {

struct Rows {
  float* data = nullptr;
  int rows = 0, width = 0, stride = 0;

  float* row(int index) const { return data + static_cast<std::ptrdiff_t>(index) * stride; }
  std::span<float> operator[](int index) const { return {row(index), static_cast<std::size_t>(width)}; }
  // `count` vectors from `first` on.
  Rows slice(int first, int count) const { return {row(first), count, width, stride}; }
  // `count` numbers of each vector from column `first` on.
  Rows columns(int first, int count) const { return {data + first, rows, count, stride}; }
};

}  // namespace sluice
