// See plain.h. Stored bytes may lie at any alignment, so they are copied, never cast.
#include "formats/plain.h"

#include <cstring>

#include "base/numbers.h"

namespace sluice {

namespace {

std::uint64_t f32_bytes(int cols) { return static_cast<std::uint64_t>(cols) * 4; }
std::uint64_t bf16_bytes(int cols) { return static_cast<std::uint64_t>(cols) * 2; }
std::uint64_t no_scales(int) { return 0; }

void decode_f32(const WeightView& weight, int row, std::span<float> out) {
  std::memcpy(out.data(), weight.weights + static_cast<std::uint64_t>(row) * f32_bytes(weight.shape.cols),
              out.size_bytes());
}

void encode_f32(std::span<const float> in, std::byte* weights, std::byte*) {
  std::memcpy(weights, in.data(), in.size_bytes());
}

void decode_bf16(const WeightView& weight, int row, std::span<float> out) {
  const std::byte* stored = weight.weights + static_cast<std::uint64_t>(row) * bf16_bytes(weight.shape.cols);
  for (std::size_t col = 0; col < out.size(); ++col) {
    std::uint16_t bits;
    std::memcpy(&bits, stored + 2 * col, 2);
    out[col] = bf16_to_f32(bits);
  }
}

void encode_bf16(std::span<const float> in, std::byte* weights, std::byte*) {
  for (std::size_t col = 0; col < in.size(); ++col) {
    const std::uint16_t bits = f32_to_bf16(in[col]);
    std::memcpy(weights + 2 * col, &bits, 2);
  }
}

}  // namespace

const Format kF32 = {FormatId::f32, "f32", 1, f32_bytes, no_scales, decode_f32, encode_f32};
const Format kBf16 = {FormatId::bf16, "bf16", 1, bf16_bytes, no_scales, decode_bf16, encode_bf16};

}  // namespace sluice
