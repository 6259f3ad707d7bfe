// See fp8_block.h.
#include "formats/fp8_block.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "base/numbers.h"

namespace sluice {

namespace {

int blocks_of(int size) { return (size + kFp8Block - 1) / kFp8Block; }
std::uint64_t weight_bytes(int cols) { return static_cast<std::uint64_t>(cols); }
template <ScaleKind kScales>
std::uint64_t block_scale_bytes(int cols) {
  return static_cast<std::uint64_t>(blocks_of(cols)) * static_cast<std::uint64_t>(scale_width(kScales));
}

template <ScaleKind kScales>
float scale_of(const std::byte* scales, std::size_t block) {
  return kScales == ScaleKind::f32 ? load_f32(scales + 4 * block)
                                   : e8m0_to_f32(std::to_integer<std::uint8_t>(scales[block]));
}

template <ScaleKind kScales>
void decode_fp8(const WeightView& weight, int row, std::span<float> out) {
  const std::byte* const codes = weight.weights + static_cast<std::uint64_t>(row) * weight_bytes(weight.shape.cols);
  const std::byte* const scales = weight.scales + static_cast<std::uint64_t>((weight.scale_phase + row) / kFp8Block) *
                                                      block_scale_bytes<kScales>(weight.shape.cols);
  for (std::size_t col = 0; col < out.size(); ++col)
    out[col] = e4m3_to_f32(std::to_integer<std::uint8_t>(codes[col])) * scale_of<kScales>(scales, col / kFp8Block);
}

// The scale that takes the largest magnitude of a block to at most 448, stored.
template <ScaleKind kScales>
void store_scale(float largest, std::byte* at) {
  if constexpr (kScales == ScaleKind::f32) {
    store_f32(at, std::max(largest / kE4m3Largest, FLT_MIN));
  } else {
    int power = -127;
    if (largest > 0) power = std::max(power, std::ilogb(largest) - 9);  // 448 < 2^9
    while (largest > std::ldexp(kE4m3Largest, power)) ++power;
    *at = static_cast<std::byte>(std::min(power + 127, static_cast<int>(kE8m0FirstCorrupt) - 1));
  }
}

template <ScaleKind kScales>
void encode_rows(std::span<const float> in, Shape shape, std::byte* weights, std::byte* scales) {
  const auto cols = static_cast<std::size_t>(shape.cols), rows = static_cast<std::size_t>(shape.rows);
  constexpr auto kSide = static_cast<std::size_t>(kFp8Block);
  for (std::size_t top = 0; top < rows; top += kSide, scales += block_scale_bytes<kScales>(shape.cols))
    for (std::size_t left = 0; left < cols; left += kSide) {
      const std::size_t bottom = std::min(top + kSide, rows), right = std::min(left + kSide, cols);
      float largest = 0;
      for (std::size_t row = top; row < bottom; ++row)
        for (std::size_t col = left; col < right; ++col) largest = std::max(largest, std::fabs(in[row * cols + col]));
      std::byte* const scale_at = scales + left / kSide * static_cast<std::size_t>(scale_width(kScales));
      store_scale<kScales>(largest, scale_at);
      const float scale = scale_of<kScales>(scale_at, 0);
      for (std::size_t row = top; row < bottom; ++row)
        for (std::size_t col = left; col < right; ++col)
          weights[row * cols + col] = std::byte{f32_to_e4m3(in[row * cols + col] / scale)};
    }
}

template <ScaleKind kScales>
constexpr Format made(FormatId id, std::string_view name) {
  return {id,
          name,
          1,
          kScales,
          kFp8Block,
          weight_bytes,
          block_scale_bytes<kScales>,
          decode_fp8<kScales>,
          encode_rows<kScales>};
}

}  // namespace

const Format kFp8 = made<ScaleKind::f32>(FormatId::fp8, "fp8");
const Format kFp8E8m0 = made<ScaleKind::e8m0>(FormatId::fp8_e8m0, "fp8_e8m0");

}  // namespace sluice
