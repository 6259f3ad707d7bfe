// What a stored weight means: one row per format.
//
// decode_row is the definition of a format. Every fast kernel must equal fp32 arithmetic on what it returns, bit for
// bit. A new format is a file beside this one and one line in the list in format.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "formats/scales.h"
#include "formats/weight_view.h"

namespace sluice {

// The scales that belong to some rows of a matrix: bytes [offset, offset + bytes) of its scales.
struct ScaleRun {
  std::uint64_t offset = 0, bytes = 0;
  int phase = 0;  // WeightView::scale_phase of those rows
};

struct Format {
  FormatId id;
  std::string_view name;  // as printed by inspect: "bf16"
  int block_cols;         // columns of a row must be a multiple of this
  ScaleKind scales;
  int scale_rows;  // rows of a matrix that share one row of scales
  std::uint64_t (*row_weight_bytes)(int cols);
  std::uint64_t (*scale_row_bytes)(int cols);  // of a row of scales; 0 where the format has none
  // out[cols] = the fp32 values of one row. Requires: out.size() == shape.cols.
  void (*decode_row)(const WeightView& weight, int row, std::span<float> out);
  // Stores rows in [rows, cols]; the caller provides weight_bytes and scale_bytes of room. Bands of a matrix may be
  // stored one by one if each begins on a multiple of scale_rows. Requires: finite numbers.
  void (*encode_rows)(std::span<const float> in, Shape shape, std::byte* weights, std::byte* scales);

  std::uint64_t weight_bytes(Shape shape) const {
    return static_cast<std::uint64_t>(shape.rows) * row_weight_bytes(shape.cols);
  }
  // Of a matrix with scale_phase 0.
  std::uint64_t scale_bytes(Shape shape) const { return scale_run(shape.cols, 0, shape.rows).bytes; }
  ScaleRun scale_run(int cols, int first_row, int rows) const;
};

const Format& format(FormatId id);
std::span<const Format* const> formats();
const Format* find_format(std::string_view name);  // null if there is none of that name

}  // namespace sluice
