// How stored weights become lanes in NEON. See formats_portable.inl.
//
// A lane takes neighbouring columns in turn, so a block decodes into its even and its odd columns: what the
// two-element structure loads (vld2q) give.
// Source of the intrinsics: Arm Intrinsics reference, Advanced SIMD.
#pragma once

#include "compute/kernels/lanes_neon.h"
// Uses the lanes.
#include "compute/kernels/formats_portable.inl"

namespace sluice::neon {
namespace {

struct F32 : Fast<F32, F32Cells> {
  static void decode(const std::uint8_t* w, const std::uint8_t*, f32x16& even, f32x16& odd) {
    split(reinterpret_cast<const float*>(w), even, odd);
  }
};

struct Bf16 : Fast<Bf16, Bf16Cells> {
  static void decode(const std::uint8_t* w, const std::uint8_t*, f32x16& even, f32x16& odd) {
    const uint32x4_t upper = vdupq_n_u32(0xffff0000u);
    for (int i = 0; i < 4; ++i) {
      const uint32x4_t pairs = vreinterpretq_u32_u8(vld1q_u8(w + 16 * i));
      even.quarter[i] = vreinterpretq_f32_u32(vshlq_n_u32(pairs, 16));
      odd.quarter[i] = vreinterpretq_f32_u32(vandq_u32(pairs, upper));
    }
  }
};

struct Mxfp4 : Fast<Mxfp4, Mxfp4Cells> {
  static constexpr int streams(int) { return 2; }
  // bf16 bytes of sixteen codes, looked up apart and then paired.
  static f32x16 widen(uint8x16_t codes, uint8x16_t low_bytes, uint8x16_t high_bytes) {
    const uint8x16_t low = vqtbl1q_u8(low_bytes, codes), high = vqtbl1q_u8(high_bytes, codes);
    const uint16x8_t first = vreinterpretq_u16_u8(vzip1q_u8(low, high));
    const uint16x8_t second = vreinterpretq_u16_u8(vzip2q_u8(low, high));
    return {{vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(first), 16)),
             vreinterpretq_f32_u32(vshll_n_u16(vget_high_u16(first), 16)),
             vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(second), 16)),
             vreinterpretq_f32_u32(vshll_n_u16(vget_high_u16(second), 16))}};
  }
  static void decode(const std::uint8_t* w, const std::uint8_t* scale, f32x16& even, f32x16& odd) {
    const uint8x16_t codes = vld1q_u8(w);
    const uint8x16_t low = vld1q_u8(kMxfp4Tables.bf16_low[*scale]), high = vld1q_u8(kMxfp4Tables.bf16_high[*scale]);
    even = widen(vandq_u8(codes, vdupq_n_u8(15)), low, high);
    odd = widen(vshrq_n_u8(codes, 4), low, high);
  }
};

// Eight f16 as numbers.
inline float32x4_t low_halves(uint16x8_t halves) { return vcvt_f32_f16(vreinterpret_f16_u16(vget_low_u16(halves))); }
inline float32x4_t high_halves(uint16x8_t halves) { return vcvt_f32_f16(vreinterpret_f16_u16(vget_high_u16(halves))); }

struct F16 : Fast<F16, F16Cells> {
  static void decode(const std::uint8_t* w, const std::uint8_t*, f32x16& even, f32x16& odd) {
    for (int i = 0; i < 2; ++i) {
      const uint16x8_t first = vreinterpretq_u16_u8(vld1q_u8(w + 32 * i));
      const uint16x8_t second = vreinterpretq_u16_u8(vld1q_u8(w + 32 * i + 16));
      const uint16x8_t evens = vuzp1q_u16(first, second), odds = vuzp2q_u16(first, second);
      even.quarter[2 * i] = low_halves(evens);
      even.quarter[2 * i + 1] = high_halves(evens);
      odd.quarter[2 * i] = low_halves(odds);
      odd.quarter[2 * i + 1] = high_halves(odds);
    }
  }
};

// Sixteen signed bytes as numbers times the scale.
inline f32x16 scaled_bytes(int8x16_t bytes, float times) {
  const int16x8_t low = vmovl_s8(vget_low_s8(bytes)), high = vmovl_s8(vget_high_s8(bytes));
  return {{vmulq_n_f32(vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))), times),
           vmulq_n_f32(vcvtq_f32_s32(vmovl_s16(vget_high_s16(low))), times),
           vmulq_n_f32(vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))), times),
           vmulq_n_f32(vcvtq_f32_s32(vmovl_s16(vget_high_s16(high))), times)}};
}

template <int group_blocks>
struct Int4 : Fast<Int4<group_blocks>, Int4Cells<group_blocks>> {
  static void decode(const std::uint8_t* w, const std::uint8_t* scale, f32x16& even, f32x16& odd) {
    const uint8x16_t codes = vld1q_u8(w);
    const int8x16_t eight = vdupq_n_s8(8);
    const float times = float_at(scale);
    even = scaled_bytes(vsubq_s8(vreinterpretq_s8_u8(vandq_u8(codes, vdupq_n_u8(15))), eight), times);
    odd = scaled_bytes(vsubq_s8(vreinterpretq_s8_u8(vshrq_n_u8(codes, 4)), eight), times);
  }
};

struct Int8 : Fast<Int8, Int8Cells> {
  static void decode(const std::uint8_t* w, const std::uint8_t* scale, f32x16& even, f32x16& odd) {
    const int8x16x2_t both = vld2q_s8(reinterpret_cast<const std::int8_t*>(w));
    const float times = float_at(scale);
    even = scaled_bytes(both.val[0], times);
    odd = scaled_bytes(both.val[1], times);
  }
};

// E4M3 as f16 with another bias: 2^-8 times the number, NaN apart.
template <class Cells>
struct Fp8ByHalf : Fast<Fp8ByHalf<Cells>, Cells> {
  using Careful = Portable<Cells>;
  static bool safe(const std::uint8_t* scale) {
    return magnitude_bits(Cells::scale_value(scale)) < (119u + 127u) << 23;
  }
  static f32x16 widened(uint8x16_t codes, float times) {
    const auto halves = [](uint8x8_t eight) {
      const int16x8_t moved = vshrq_n_s16(vreinterpretq_s16_u16(vshll_n_u8(eight, 8)), 1);
      return vandq_u16(vreinterpretq_u16_s16(moved), vdupq_n_u16(0xbf80));
    };
    const uint16x8_t first = halves(vget_low_u8(codes)), second = halves(vget_high_u8(codes));
    return {{vmulq_n_f32(low_halves(first), times), vmulq_n_f32(high_halves(first), times),
             vmulq_n_f32(low_halves(second), times), vmulq_n_f32(high_halves(second), times)}};
  }
  static void decode(const std::uint8_t* w, const std::uint8_t* scale, f32x16& even, f32x16& odd) {
    const uint8x16x2_t both = vld2q_u8(w);
    const uint8x16_t nan = vdupq_n_u8(127);
    const uint8x16_t even_nan = vceqq_u8(vandq_u8(both.val[0], nan), nan);
    const uint8x16_t odd_nan = vceqq_u8(vandq_u8(both.val[1], nan), nan);
    if (!safe(scale) || vmaxvq_u8(vorrq_u8(even_nan, odd_nan)) != 0) return decode_apart<Careful>(w, scale, even, odd);
    const float times = Cells::scale_value(scale) * 256;
    even = widened(both.val[0], times);
    odd = widened(both.val[1], times);
  }
};
using Fp8 = Fp8ByHalf<Fp8Cells>;
using Fp8E8m0 = Fp8ByHalf<Fp8E8m0Cells>;

}  // namespace
}  // namespace sluice::neon
