// The number formats of checkpoints, one value at a time: stored bits to fp32 and back.
//
// Widening is exact for every format here. Narrowing rounds to nearest, ties to even. These functions are definitions
// for tests, encoders and scalar code; kernels spell the same values in their own way and are compared with these.
#pragma once

#include <bit>
#include <cstdint>

namespace sluice {

// bf16: the upper half of the fp32 word.
constexpr float bf16_to_f32(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
constexpr std::uint16_t f32_to_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);  // quiet NaN
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
constexpr float rounded_to_bf16(float value) { return bf16_to_f32(f32_to_bf16(value)); }

// f16 (IEEE binary16).
constexpr float f16_to_f32(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16, size = bits & 0x7fffu;
  if (size >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | (size & 0x3ffu) << 13);
  if (size >= 0x400u) return std::bit_cast<float>(sign | ((size << 13) + (112u << 23)));
  const float value = static_cast<float>(size) * 0x1p-24f;  // zero and subnormals
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
}
constexpr std::uint16_t f32_to_f16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value), size = bits & 0x7fffffffu;
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  if (size > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);   // NaN
  if (size >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // 65520 and more: infinity
  if (size < 0x38800000u) {  // below 2^-14: whole multiples of 2^-24, rounded by the addition
    const float sum = std::bit_cast<float>(size) + 0x1p-1f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(sum) - 0x3f000000u));
  }
  return static_cast<std::uint16_t>(sign | ((size - (112u << 23) + 0xfffu + ((size >> 13) & 1u)) >> 13));
}

// E4M3 ("fn"): 4 exponent bits of bias 7, no infinities, largest 448; 0x7f and 0xff are NaN.
inline constexpr float kE4m3Largest = 448.f;
constexpr float e4m3_to_f32(std::uint8_t code) {
  const std::uint32_t sign = static_cast<std::uint32_t>(code & 0x80u) << 24, size = code & 0x7fu;
  if (size == 0x7fu) return std::bit_cast<float>(sign | 0x7fc00000u);
  if (size >= 8u) return std::bit_cast<float>(sign | ((size << 20) + (120u << 23)));
  const float value = static_cast<float>(size) * 0x1p-9f;  // zero and subnormals
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
}
// Saturates at 448, as quantisers clamp before they convert.
constexpr std::uint8_t f32_to_e4m3(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value), size = bits & 0x7fffffffu;
  const std::uint32_t sign = (bits >> 24) & 0x80u;
  if (size > 0x7f800000u) return static_cast<std::uint8_t>(sign | 0x7fu);   // NaN
  if (size >= 0x43e00000u) return static_cast<std::uint8_t>(sign | 0x7eu);  // 448 and more
  if (size < 0x3c800000u) {  // below 2^-6: whole multiples of 2^-9, rounded by the addition
    const float sum = std::bit_cast<float>(size) + 0x1p14f;
    return static_cast<std::uint8_t>(sign | (std::bit_cast<std::uint32_t>(sum) - 0x46800000u));
  }
  return static_cast<std::uint8_t>(sign | ((size - (120u << 23) + 0x7ffffu + ((size >> 20) & 1u)) >> 20));
}

// E2M1: bit 3 sign, bits 2..0 index into the eight magnitudes. Code 8 is -0.
inline constexpr float kE2m1[16] = {0.f,  0.5f,  1.f,  1.5f,  2.f,  3.f,  4.f,  6.f,
                                    -0.f, -0.5f, -1.f, -1.5f, -2.f, -3.f, -4.f, -6.f};
constexpr float e2m1_to_f32(unsigned code) { return kE2m1[code & 15u]; }
// Nearest magnitude, ties to the even code, saturating at 6.
constexpr unsigned f32_to_e2m1(float value) {
  const unsigned sign = std::bit_cast<std::uint32_t>(value) >> 31;
  const float size = sign ? -value : value;
  constexpr float halfway[7] = {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.f};
  unsigned code = 0;
  for (unsigned step = 0; step < 7; ++step)
    if (size > halfway[step] || (size == halfway[step] && (step & 1u))) code = step + 1;
  return code | (sign << 3);
}

// E8M0: 2^(byte - 127). Byte 0 is the subnormal 2^-127. Bytes 253..255 would overflow a product with 6, or are NaN: a
// checkpoint that holds them is corrupt (docs/numerics.md), so callers refuse them before they decode.
inline constexpr unsigned kE8m0FirstCorrupt = 253;
constexpr float e8m0_to_f32(std::uint8_t byte) {
  return byte == 0     ? std::bit_cast<float>(0x00400000u)
         : byte == 255 ? std::bit_cast<float>(0x7fc00000u)
                       : std::bit_cast<float>(static_cast<std::uint32_t>(byte) << 23);
}

}  // namespace sluice
