// See mxfp4.h.
#include "formats/mxfp4.h"

#include <algorithm>
#include <cmath>

#include "base/numbers.h"
#include "formats/by_rows.h"

namespace sluice {

namespace {

std::uint64_t packed_bytes(int cols) { return static_cast<std::uint64_t>(cols) / 2; }
std::uint64_t scale_bytes(int cols) { return static_cast<std::uint64_t>(cols) / kMxfp4Group; }

void decode_mxfp4(const WeightView& weight, int row, std::span<float> out) {
  const int cols = weight.shape.cols;
  const std::byte* packed = weight.weights + static_cast<std::uint64_t>(row) * packed_bytes(cols);
  const std::byte* scales = weight.scales + static_cast<std::uint64_t>(row) * scale_bytes(cols);
  for (std::size_t col = 0; col < out.size(); ++col) {
    const auto byte = std::to_integer<unsigned>(packed[col / 2]);
    const float scale = e8m0_to_f32(std::to_integer<std::uint8_t>(scales[col / kMxfp4Group]));
    out[col] = e2m1_to_f32(col % 2 == 0 ? byte & 15u : byte >> 4) * scale;
  }
}

// Spec of Kimi K3, section 9.3: exponent of the largest magnitude minus 2, so that it lands between 4 and 8 (saturating
// at 6).
std::uint8_t group_exponent(std::span<const float> group) {
  float largest = 0;
  for (float value : group) largest = std::max(largest, std::fabs(value));
  if (largest == 0) return 127;
  return static_cast<std::uint8_t>(
      std::clamp(std::ilogb(largest) - 2 + 127, 0, static_cast<int>(kE8m0FirstCorrupt) - 1));
}

void encode_row(std::span<const float> in, std::byte* weights, std::byte* scales) {
  for (std::size_t first = 0; first < in.size(); first += kMxfp4Group) {
    const std::span<const float> group = in.subspan(first, kMxfp4Group);
    const std::uint8_t scale = group_exponent(group);
    scales[first / kMxfp4Group] = std::byte{scale};
    const auto code = [&](std::size_t col) { return f32_to_e2m1(std::ldexp(group[col], 127 - scale)); };
    for (std::size_t col = 0; col < kMxfp4Group; col += 2)
      weights[(first + col) / 2] = static_cast<std::byte>(code(col) | code(col + 1) << 4);
  }
}

}  // namespace

const Format kMxfp4 = {FormatId::mxfp4,
                       "mxfp4",
                       kMxfp4Group,
                       ScaleKind::e8m0,
                       1,
                       packed_bytes,
                       scale_bytes,
                       decode_mxfp4,
                       encode_by_rows<packed_bytes, scale_bytes, encode_row>};

}  // namespace sluice
