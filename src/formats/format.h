// What a stored weight means: one row per format.
//
// decode_row is the definition of a format. Every fast kernel must equal fp32 arithmetic on what it returns, bit for
// bit. A new format is a file beside this one and one line in the list in format.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "formats/weight_view.h"

namespace sluice {

struct Format {
  FormatId id;
  std::string_view name;  // as printed by inspect: "bf16"
  int block_cols;         // columns of a row must be a multiple of this
  std::uint64_t (*row_weight_bytes)(int cols);
  std::uint64_t (*row_scale_bytes)(int cols);  // 0 where the format has no scales
  // out[cols] = the fp32 values of one row. Requires: out.size() == shape.cols.
  void (*decode_row)(const WeightView& weight, int row, std::span<float> out);
  // Stores one row [cols]; the caller provides row_weight_bytes and row_scale_bytes of room.
  void (*encode_row)(std::span<const float> in, std::byte* weights, std::byte* scales);

  std::uint64_t weight_bytes(Shape shape) const {
    return static_cast<std::uint64_t>(shape.rows) * row_weight_bytes(shape.cols);
  }
  std::uint64_t scale_bytes(Shape shape) const {
    return static_cast<std::uint64_t>(shape.rows) * row_scale_bytes(shape.cols);
  }
};

const Format& format(FormatId id);
std::span<const Format* const> formats();

}  // namespace sluice
