// f32x16 in NEON (AArch64): sixteen float lanes in four registers.
//
// The vocabulary of the kernel bodies (*.inl); lanes_scalar.h says what each word means.
// Source of the intrinsics: Arm Intrinsics reference, Advanced SIMD.
#pragma once

#include <arm_neon.h>

#include <cstdint>

#include "compute/kernels/table.h"

namespace sluice::neon {
namespace {  // nothing here may be seen, or chosen by the linker, elsewhere

struct f32x16 {
  float32x4_t quarter[4];
};
using Piece = float32x4_t;  // what a register holds
constexpr int kPieceLanes = 4;
constexpr int kPassRows = 2;  // vectors that meet a few rows of weights in registers
constexpr Tiles kTiles = Tiles::always;
constexpr int kTileOuts = 4;  // of a tile of kTileOuts x kPanelRows chains

constexpr int kStateColumns = 2;  // f32x16 of columns that a recurrence keeps in registers

template <class Value>
inline __attribute__((always_inline)) f32x16 each(Value value) {
  return {{value(0), value(1), value(2), value(3)}};
}

inline f32x16 set1(float value) {
  return each([=](int) { return vdupq_n_f32(value); });
}
inline f32x16 zero() { return set1(0.f); }
inline f32x16 load(const float* p) {
  return each([=](int i) { return vld1q_f32(p + 4 * i); });
}
inline void store(float* p, const f32x16& v) {
  for (int i = 0; i < 4; ++i) vst1q_f32(p + 4 * i, v.quarter[i]);
}
inline f32x16 load_part(const float* p, int n) {
  alignas(16) float values[16] = {};
  __builtin_memcpy(values, p, sizeof(float) * static_cast<std::uint64_t>(n));
  return load(values);
}
inline void store_part(float* p, const f32x16& v, int n) {
  alignas(16) float values[16];
  store(values, v);
  __builtin_memcpy(p, values, sizeof(float) * static_cast<std::uint64_t>(n));
}
inline f32x16 first_of(const f32x16& v, int n) {
  alignas(16) float values[16];
  store(values, v);
  return load_part(values, n);
}
inline f32x16 load_strided(const float* p, int stride) {
  alignas(16) float values[16];
  for (int i = 0; i < 16; ++i) values[i] = p[static_cast<std::int64_t>(i) * stride];
  return load(values);
}
inline float first(const f32x16& v) { return vgetq_lane_f32(v.quarter[0], 0); }

inline f32x16 add(const f32x16& a, const f32x16& b) {
  return each([&](int i) { return vaddq_f32(a.quarter[i], b.quarter[i]); });
}
inline f32x16 sub(const f32x16& a, const f32x16& b) {
  return each([&](int i) { return vsubq_f32(a.quarter[i], b.quarter[i]); });
}
inline f32x16 mul(const f32x16& a, const f32x16& b) {
  return each([&](int i) { return vmulq_f32(a.quarter[i], b.quarter[i]); });
}
inline f32x16 div(const f32x16& a, const f32x16& b) {
  return each([&](int i) { return vdivq_f32(a.quarter[i], b.quarter[i]); });
}
inline f32x16 sqrt(const f32x16& a) {
  return each([&](int i) { return vsqrtq_f32(a.quarter[i]); });
}
inline f32x16 fma(const f32x16& a, const f32x16& b, const f32x16& c) {
  return each([&](int i) { return vfmaq_f32(c.quarter[i], a.quarter[i], b.quarter[i]); });
}
// Not vmaxq and vminq: they give NaN where one of both is NaN, and order the two zeros.
inline f32x16 max(const f32x16& a, const f32x16& b) {
  return each([&](int i) { return vbslq_f32(vcgtq_f32(a.quarter[i], b.quarter[i]), a.quarter[i], b.quarter[i]); });
}
inline f32x16 min(const f32x16& a, const f32x16& b) {
  return each([&](int i) { return vbslq_f32(vcltq_f32(a.quarter[i], b.quarter[i]), a.quarter[i], b.quarter[i]); });
}
inline f32x16 if_less(const f32x16& a, const f32x16& b, const f32x16& yes, const f32x16& no) {
  return each([&](int i) { return vbslq_f32(vcltq_f32(a.quarter[i], b.quarter[i]), yes.quarter[i], no.quarter[i]); });
}
inline std::uint32_t lanes_less(const f32x16& a, const f32x16& b) {
  constexpr std::uint32_t kBits[4] = {1, 2, 4, 8};
  const uint32x4_t bits = vld1q_u32(kBits);
  std::uint32_t all = 0;
  for (int i = 0; i < 4; ++i) all |= vaddvq_u32(vandq_u32(vcltq_f32(a.quarter[i], b.quarter[i]), bits)) << 4 * i;
  return all;
}
template <int k>
inline f32x16 of_each_four(const f32x16& v) {
  return each([&](int i) { return vdupq_laneq_f32(v.quarter[i], k); });
}
template <int j>
inline f32x16 four_times(const f32x16& v) {
  return each([&](int) { return v.quarter[j]; });
}
inline f32x16 negate(const f32x16& a) {
  return each([&](int i) { return vnegq_f32(a.quarter[i]); });
}
inline f32x16 magnitude(const f32x16& a) {
  return each([&](int i) { return vabsq_f32(a.quarter[i]); });
}
inline f32x16 with_sign_of(const f32x16& sign, const f32x16& a) {
  return each([&](int i) { return vbslq_f32(vdupq_n_u32(0x80000000u), sign.quarter[i], a.quarter[i]); });
}
inline f32x16 scale_by_power(const f32x16& a, const f32x16& n) {
  return each([&](int i) {
    const int32x4_t whole = vcvtq_s32_f32(n.quarter[i]), half = vshrq_n_s32(whole, 1), bias = vdupq_n_s32(127);
    const int32x4_t first = vshlq_n_s32(vaddq_s32(half, bias), 23);
    const int32x4_t second = vshlq_n_s32(vaddq_s32(vsubq_s32(whole, half), bias), 23);
    return vmulq_f32(vmulq_f32(a.quarter[i], vreinterpretq_f32_s32(first)), vreinterpretq_f32_s32(second));
  });
}

inline float fold(const f32x16& v) {
  const float32x4_t four = vaddq_f32(vaddq_f32(v.quarter[0], v.quarter[2]), vaddq_f32(v.quarter[1], v.quarter[3]));
  const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}

inline Piece piece_zero() { return vdupq_n_f32(0.f); }
inline Piece piece_load(const float* p) { return vld1q_f32(p); }
inline void piece_store(float* p, Piece v) { vst1q_f32(p, v); }
inline Piece piece_fma(Piece a, Piece b, Piece c) { return vfmaq_f32(c, a, b); }

// Asks for memory ahead of one of `streams` places that are read at once, into the second-level cache.
template <int streams>
inline __attribute__((always_inline)) void prefetch(const std::uint8_t* p) {
  __builtin_prefetch(p + 2048, 0, 2);
}

inline void split(const float* p, f32x16& even, f32x16& odd) {
  for (int i = 0; i < 4; ++i) {
    const float32x4x2_t both = vld2q_f32(p + 8 * i);
    even.quarter[i] = both.val[0];
    odd.quarter[i] = both.val[1];
  }
}
inline void join(float* p, const f32x16& even, const f32x16& odd) {
  for (int i = 0; i < 4; ++i) vst2q_f32(p + 8 * i, {{even.quarter[i], odd.quarter[i]}});
}

}  // namespace
}  // namespace sluice::neon
