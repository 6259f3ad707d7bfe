// See plain.h. Stored bytes may lie at any alignment, so they are copied, never cast.
#include "formats/plain.h"

#include <cstring>

#include "base/numbers.h"
#include "formats/by_rows.h"

namespace sluice {

namespace {

std::uint64_t f32_bytes(int cols) { return static_cast<std::uint64_t>(cols) * 4; }
std::uint64_t half_bytes(int cols) { return static_cast<std::uint64_t>(cols) * 2; }
std::uint64_t no_scales(int) { return 0; }

void decode_f32(const WeightView& weight, int row, std::span<float> out) {
  std::memcpy(out.data(), weight.weights + static_cast<std::uint64_t>(row) * f32_bytes(weight.shape.cols),
              out.size_bytes());
}

void encode_f32(std::span<const float> in, std::byte* weights, std::byte*) {
  std::memcpy(weights, in.data(), in.size_bytes());
}

// bf16 and f16: kWiden and kNarrow are the conversions of one value.
template <auto kWiden>
void decode_half(const WeightView& weight, int row, std::span<float> out) {
  const std::byte* stored = weight.weights + static_cast<std::uint64_t>(row) * half_bytes(weight.shape.cols);
  for (std::size_t col = 0; col < out.size(); ++col) {
    std::uint16_t bits;
    std::memcpy(&bits, stored + 2 * col, 2);
    out[col] = kWiden(bits);
  }
}

template <auto kNarrow>
void encode_half(std::span<const float> in, std::byte* weights, std::byte*) {
  for (std::size_t col = 0; col < in.size(); ++col) {
    const std::uint16_t bits = kNarrow(in[col]);
    std::memcpy(weights + 2 * col, &bits, 2);
  }
}

template <auto kBytes, auto kDecode, auto kEncode>
constexpr Format plain_format(FormatId id, std::string_view name) {
  return {id, name, 1, ScaleKind::none, 1, kBytes, no_scales, kDecode, encode_by_rows<kBytes, no_scales, kEncode>};
}

}  // namespace

const Format kF32 = plain_format<f32_bytes, decode_f32, encode_f32>(FormatId::f32, "f32");
const Format kBf16 =
    plain_format<half_bytes, decode_half<bf16_to_f32>, encode_half<f32_to_bf16>>(FormatId::bf16, "bf16");
const Format kF16 = plain_format<half_bytes, decode_half<f16_to_f32>, encode_half<f32_to_f16>>(FormatId::f16, "f16");

}  // namespace sluice
