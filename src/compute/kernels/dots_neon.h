// Dot products of small integers in NEON; dots_scalar.h says what each word means.
//
// Products are exact in 16 bits, and so is the sum of a low and a high nibble's (at most 2 · 12 · 127); neighbours are
// added in 32. Source of the intrinsics: Arm Intrinsics reference, Advanced SIMD.
#pragma once

#include "compute/kernels/lanes_neon.h"

namespace sluice::neon {
namespace {

constexpr int kFastVectors = 2;
constexpr int fast_streams(int t) { return t == 1 ? 4 : 2; }

// Sums of fours, of the sixteen numbers in two registers.
inline float32x4_t in_fours(int16x8_t first, int16x8_t second) {
  return vcvtq_f32_s32(vpaddq_s32(vpaddlq_s16(first), vpaddlq_s16(second)));
}

inline void store_whole(std::int8_t* to, const f32x16& v) {
  const auto halves = [&](int i) {
    return vcombine_s16(vmovn_s32(vcvtnq_s32_f32(v.quarter[i])), vmovn_s32(vcvtnq_s32_f32(v.quarter[i + 1])));
  };
  vst1q_s8(to, vcombine_s8(vmovn_s16(halves(0)), vmovn_s16(halves(2))));
}

struct NibbleDots {
  static constexpr bool kNibbles = true;
  static constexpr int kAhead = 2048;  // bytes of a row that are asked for ahead, into the second-level cache
  using Table = int8x16_t;
  struct Line {
    int8x16_t low[4], high[4];
  };
  static Table table(const std::int8_t* numbers) { return vld1q_s8(numbers); }
  static Line open(const std::uint8_t* w, Table table) {
    Line line;
    for (int i = 0; i < 4; ++i) {
      const uint8x16_t codes = vld1q_u8(w + 16 * i);
      line.low[i] = vqtbl1q_s8(table, vandq_u8(codes, vdupq_n_u8(15)));
      line.high[i] = vqtbl1q_s8(table, vshrq_n_u8(codes, 4));
    }
    return line;
  }
  static void count(const std::int8_t*, std::int32_t*) {}
  static f32x16 dot(const Line& line, const std::int8_t* x, const std::int32_t*) {
    return each([&](int i) {
      const int8x16_t low = vld1q_s8(x + 16 * i), high = vld1q_s8(x + 64 + 16 * i);
      const int16x8_t first = vmull_s8(vget_low_s8(line.low[i]), vget_low_s8(low));
      const int16x8_t second = vmull_s8(vget_high_s8(line.low[i]), vget_high_s8(low));
      return in_fours(vmlal_s8(first, vget_low_s8(line.high[i]), vget_low_s8(high)),
                      vmlal_s8(second, vget_high_s8(line.high[i]), vget_high_s8(high)));
    });
  }
};

struct ByteDots {
  static constexpr bool kNibbles = false;
  static constexpr int kAhead = 768;
  struct Table {};
  struct Line {
    int8x16_t quarter[4];
  };
  static Table table(const std::int8_t*) { return {}; }
  static Line open(const std::uint8_t* w, Table) {
    const auto* const numbers = reinterpret_cast<const std::int8_t*>(w);
    return {{vld1q_s8(numbers), vld1q_s8(numbers + 16), vld1q_s8(numbers + 32), vld1q_s8(numbers + 48)}};
  }
  static void count(const std::int8_t*, std::int32_t*) {}
  static f32x16 dot(const Line& line, const std::int8_t* x, const std::int32_t*) {
    return each([&](int i) {
      const int8x16_t numbers = vld1q_s8(x + 16 * i);
      return in_fours(vmull_s8(vget_low_s8(line.quarter[i]), vget_low_s8(numbers)),
                      vmull_s8(vget_high_s8(line.quarter[i]), vget_high_s8(numbers)));
    });
  }
};

inline f32x16 e8m0_halves(const std::uint8_t* from) {
  static constexpr std::uint8_t kOrder[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
  const uint8x16_t bytes = vqtbl1q_u8(vld1q_u8(from), vld1q_u8(kOrder));
  const uint16x8_t low = vmovl_u8(vget_low_u8(bytes)), high = vmovl_u8(vget_high_u8(bytes));
  const auto halves = [](uint16x4_t four) {
    const int32x4_t words = vreinterpretq_s32_u32(vmovl_u16(four)), one = vdupq_n_s32(1);
    return vreinterpretq_f32_s32(
        vmaxq_s32(vshlq_n_s32(vsubq_s32(words, one), 23), vshlq_n_s32(vaddq_s32(words, one), 21)));
  };
  return {
      {halves(vget_low_u16(low)), halves(vget_high_u16(low)), halves(vget_low_u16(high)), halves(vget_high_u16(high))}};
}
inline f32x16 group_scales(const std::uint8_t* from, int cols) {
  const auto* const scales = reinterpret_cast<const float*>(from);
  if (cols == 128) return each([&](int) { return vld1q_f32(scales); });
  if (cols == 64) {
    const float32x4x2_t both = vld2q_f32(scales);
    return {{both.val[0], both.val[0], both.val[1], both.val[1]}};
  }
  const float32x4x4_t all = vld4q_f32(scales);
  return {{all.val[0], all.val[1], all.val[2], all.val[3]}};
}

template <int b>
f32x16 spread(const f32x16& v) {
  return each([&](int i) { return vdupq_laneq_f32(v.quarter[i], b); });
}

}  // namespace
}  // namespace sluice::neon
