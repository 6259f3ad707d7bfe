// Formats whose weights are small whole numbers times a scale, as the fast mode takes them (docs/numerics.md, "Fast").
#pragma once

#include <cstdint>
#include <string_view>

#include "compute/kernels/table.h"
#include "formats/weight_view.h"

namespace sluice {

// What products are made of: `exact`, fp32 weights and fp32 activations; `fast`, whole numbers on both sides where a
// format has them, which is another set of results.
enum class Numerics : std::uint8_t { exact, fast };
std::string_view numerics_name(Numerics numerics);  // "exact", "fast"

struct FastFormat {
  bool nibbles;             // two numbers a byte, the low nibble first; else a signed byte each
  std::int8_t numbers[16];  // what a nibble stands for
  bool e8m0;                // a scale is a byte b that means 2^(b - 128); else fp32
  int scale_cols;           // columns of a row that share a scale; 0: all
};

// Null: the format has no such form, and the fast mode treats it as the exact one.
const FastFormat* fast_format(FormatId id);

// What a vector takes, in floats, as KernelTable::quantise leaves it.
std::uint64_t quantised_floats(bool nibbles, int cols);
// The product of rows of W, of a format that has the form, with such vectors at x.
FastPart fast_part(const WeightView& w, const float* x, int x_rows, float* y, std::int64_t y_stride);

}  // namespace sluice
