// See fast_format.h.
#include "compute/fast_format.h"

#include "base/check.h"
#include "formats/format.h"

namespace sluice {

namespace {

// E2M1 values are halves, so their doubles are whole; the scale is halved for it.
constexpr FastFormat kMxfp4Fast = {true, {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}, true, 32};
constexpr FastFormat int4_fast(int scale_cols) {
  return {true, {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7}, false, scale_cols};
}
constexpr FastFormat kInt4Fast = int4_fast(0), kInt4Group32Fast = int4_fast(32), kInt4Group64Fast = int4_fast(64),
                     kInt4Group128Fast = int4_fast(128);
constexpr FastFormat kInt8Fast = {false, {}, false, 0};

}  // namespace

std::string_view numerics_name(Numerics numerics) { return numerics == Numerics::fast ? "fast" : "exact"; }

const FastFormat* fast_format(FormatId id) {
  switch (id) {
    case FormatId::mxfp4:
      return &kMxfp4Fast;
    case FormatId::int8:
      return &kInt8Fast;
    case FormatId::int4:
      return &kInt4Fast;
    case FormatId::int4g32:
      return &kInt4Group32Fast;
    case FormatId::int4g64:
      return &kInt4Group64Fast;
    case FormatId::int4g128:
      return &kInt4Group128Fast;
    case FormatId::f32:
    case FormatId::bf16:
    case FormatId::f16:
    case FormatId::fp8:
    case FormatId::fp8_e8m0:
      return nullptr;
  }
  return nullptr;
}

std::uint64_t quantised_floats(bool nibbles, int cols) {
  const int run_cols = nibbles ? kNibbleRunCols : kByteRunCols, run_bytes = nibbles ? kNibbleRunBytes : kByteRunBytes;
  return static_cast<std::uint64_t>((cols + run_cols - 1) / run_cols) * static_cast<std::uint64_t>(run_bytes) /
         sizeof(float);
}

FastPart fast_part(const WeightView& w, const float* x, int x_rows, float* y, std::int64_t y_stride) {
  const FastFormat* const as = fast_format(w.format);
  SLUICE_DCHECK(as != nullptr);
  const Format& stored = format(w.format);
  return {.weights = reinterpret_cast<const std::uint8_t*>(w.weights),
          .scales = reinterpret_cast<const std::uint8_t*>(w.scales),
          .weight_stride = static_cast<std::int64_t>(stored.row_weight_bytes(w.shape.cols)),
          .scale_stride = static_cast<std::int64_t>(stored.scale_row_bytes(w.shape.cols)),
          .numbers = as->nibbles ? as->numbers : nullptr,
          .scale_cols = as->scale_cols,
          .e8m0 = as->e8m0,
          .outs = w.shape.rows,
          .cols = w.shape.cols,
          .x = reinterpret_cast<const std::uint8_t*>(x),
          .x_rows = x_rows,
          .y = y,
          .y_stride = y_stride};
}

}  // namespace sluice
