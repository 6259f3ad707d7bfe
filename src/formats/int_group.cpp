// See int_group.h.
#include "formats/int_group.h"

#include <algorithm>
#include <cmath>

#include "formats/by_rows.h"

namespace sluice {

namespace {

constexpr int kWholeRow = 0;  // as a group

template <int kGroup>
std::uint64_t group_scale_bytes(int cols) {
  return kGroup == kWholeRow ? 4 : static_cast<std::uint64_t>((cols + kGroup - 1) / kGroup) * 4;
}

float group_scale(std::span<const float> group, float most) {
  float largest = 0;
  for (float value : group) largest = std::max(largest, std::fabs(value));
  return std::max(largest / most, 1e-8f);
}

// std::nearbyint: half to even, the rounding mode that every thread starts with.
int quantised(float value, float scale, int most) {
  const float number = std::nearbyint(value / scale);
  return static_cast<int>(std::clamp(number, static_cast<float>(-most - 1), static_cast<float>(most)));
}

std::uint64_t int8_bytes(int cols) { return static_cast<std::uint64_t>(cols); }

void decode_int8(const WeightView& weight, int row, std::span<float> out) {
  const std::byte* const stored = weight.weights + static_cast<std::uint64_t>(row) * int8_bytes(weight.shape.cols);
  const float scale = load_f32(weight.scales + static_cast<std::uint64_t>(row) * 4);
  for (std::size_t col = 0; col < out.size(); ++col)
    out[col] = static_cast<float>(std::to_integer<std::int8_t>(stored[col])) * scale;
}

void encode_int8(std::span<const float> in, std::byte* weights, std::byte* scales) {
  const float scale = group_scale(in, 127);
  store_f32(scales, scale);
  for (std::size_t col = 0; col < in.size(); ++col)
    weights[col] = static_cast<std::byte>(quantised(in[col], scale, 127));
}

std::uint64_t int4_bytes(int cols) { return (static_cast<std::uint64_t>(cols) + 1) / 2; }

template <int kGroup>
void decode_int4(const WeightView& weight, int row, std::span<float> out) {
  const std::byte* const packed = weight.weights + static_cast<std::uint64_t>(row) * int4_bytes(weight.shape.cols);
  const std::byte* const scales =
      weight.scales + static_cast<std::uint64_t>(row) * group_scale_bytes<kGroup>(weight.shape.cols);
  for (std::size_t col = 0; col < out.size(); ++col) {
    const auto byte = std::to_integer<int>(packed[col / 2]);
    const int number = (col % 2 == 0 ? byte & 15 : byte >> 4) - 8;
    out[col] = static_cast<float>(number) * load_f32(scales + (kGroup == kWholeRow ? 0 : col / kGroup * 4));
  }
}

template <int kGroup>
void encode_int4(std::span<const float> in, std::byte* weights, std::byte* scales) {
  const std::size_t group = kGroup == kWholeRow ? in.size() : kGroup;
  std::fill_n(weights, int4_bytes(static_cast<int>(in.size())), std::byte{0x88});
  for (std::size_t first = 0; first < in.size(); first += group, scales += 4) {
    const std::size_t last = std::min(first + group, in.size());
    const float scale = group_scale(in.subspan(first, last - first), 7);
    store_f32(scales, scale);
    for (std::size_t col = first; col < last; ++col) {
      const auto nibble = static_cast<std::byte>(quantised(in[col], scale, 7) + 8);
      std::byte& byte = weights[col / 2];
      byte = col % 2 == 0 ? (byte & std::byte{0xf0}) | nibble : (byte & std::byte{0x0f}) | nibble << 4;
    }
  }
}

template <int kGroup>
constexpr Format int4_format(FormatId id, std::string_view name) {
  return {id,
          name,
          1,
          ScaleKind::f32,
          1,
          int4_bytes,
          group_scale_bytes<kGroup>,
          decode_int4<kGroup>,
          encode_by_rows<int4_bytes, group_scale_bytes<kGroup>, encode_int4<kGroup>>};
}

}  // namespace

const Format kInt8 = {FormatId::int8,
                      "int8",
                      1,
                      ScaleKind::f32,
                      1,
                      int8_bytes,
                      group_scale_bytes<kWholeRow>,
                      decode_int8,
                      encode_by_rows<int8_bytes, group_scale_bytes<kWholeRow>, encode_int8>};
const Format kInt4 = int4_format<kWholeRow>(FormatId::int4, "int4");
const Format kInt4Group32 = int4_format<32>(FormatId::int4g32, "int4g32");
const Format kInt4Group64 = int4_format<64>(FormatId::int4g64, "int4g64");
const Format kInt4Group128 = int4_format<128>(FormatId::int4g128, "int4g128");

}  // namespace sluice
