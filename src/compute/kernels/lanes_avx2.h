// f32x16 in AVX2 with FMA: sixteen float lanes in two registers.
//
// The vocabulary of the kernel bodies (*.inl); lanes_scalar.h says what each word means.
// Source of the intrinsics: Intel Intrinsics Guide.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "compute/kernels/table.h"

namespace sluice::avx2 {
namespace {  // nothing here may be seen, or chosen by the linker, elsewhere

struct f32x16 {
  __m256 low, high;
};
using Piece = __m256;  // what a register holds
constexpr int kPieceLanes = 8;
constexpr int kPassRows = 2;  // vectors that meet a few rows of weights in registers
constexpr Tiles kTiles = Tiles::always;
constexpr int kTileOuts = 2;  // of a tile of kTileOuts x kPanelRows chains

constexpr int kStateColumns = 4;  // f32x16 of columns that a recurrence keeps in registers

inline f32x16 zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
inline f32x16 set1(float value) { return {_mm256_set1_ps(value), _mm256_set1_ps(value)}; }
inline f32x16 load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
inline void store(float* p, f32x16 v) {
  _mm256_storeu_ps(p, v.low);
  _mm256_storeu_ps(p + 8, v.high);
}
// Lanes [first, first + 8) that are below n, as a mask.
inline __m256i lanes_below(int n, int first) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n - first), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));
}
inline f32x16 load_part(const float* p, int n) {
  return {_mm256_maskload_ps(p, lanes_below(n, 0)), _mm256_maskload_ps(p + 8, lanes_below(n, 8))};
}
inline void store_part(float* p, f32x16 v, int n) {
  _mm256_maskstore_ps(p, lanes_below(n, 0), v.low);
  _mm256_maskstore_ps(p + 8, lanes_below(n, 8), v.high);
}
inline f32x16 first_of(f32x16 v, int n) {
  return {_mm256_and_ps(v.low, _mm256_castsi256_ps(lanes_below(n, 0))),
          _mm256_and_ps(v.high, _mm256_castsi256_ps(lanes_below(n, 8)))};
}
inline f32x16 load_strided(const float* p, int stride) {
  const __m256i index = _mm256_mullo_epi32(_mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0), _mm256_set1_epi32(stride));
  return {_mm256_i32gather_ps(p, index, 4), _mm256_i32gather_ps(p + 8 * static_cast<std::int64_t>(stride), index, 4)};
}
inline float first(f32x16 v) { return _mm256_cvtss_f32(v.low); }

inline f32x16 add(f32x16 a, f32x16 b) { return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)}; }
inline f32x16 sub(f32x16 a, f32x16 b) { return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)}; }
inline f32x16 mul(f32x16 a, f32x16 b) { return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)}; }
inline f32x16 div(f32x16 a, f32x16 b) { return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)}; }
inline f32x16 sqrt(f32x16 a) { return {_mm256_sqrt_ps(a.low), _mm256_sqrt_ps(a.high)}; }
inline f32x16 fma(f32x16 a, f32x16 b, f32x16 c) {
  return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}
inline f32x16 max(f32x16 a, f32x16 b) { return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)}; }
inline f32x16 min(f32x16 a, f32x16 b) { return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)}; }
inline f32x16 if_less(f32x16 a, f32x16 b, f32x16 yes, f32x16 no) {
  return {_mm256_blendv_ps(no.low, yes.low, _mm256_cmp_ps(a.low, b.low, _CMP_LT_OQ)),
          _mm256_blendv_ps(no.high, yes.high, _mm256_cmp_ps(a.high, b.high, _CMP_LT_OQ))};
}
inline std::uint32_t lanes_less(f32x16 a, f32x16 b) {
  const int low = _mm256_movemask_ps(_mm256_cmp_ps(a.low, b.low, _CMP_LT_OQ));
  const int high = _mm256_movemask_ps(_mm256_cmp_ps(a.high, b.high, _CMP_LT_OQ));
  return static_cast<std::uint32_t>(low | high << 8);
}
template <int k>
inline f32x16 of_each_four(f32x16 v) {
  return {_mm256_permute_ps(v.low, 0x55 * k), _mm256_permute_ps(v.high, 0x55 * k)};
}
template <int j>
inline f32x16 four_times(f32x16 v) {
  const __m256 from = j < 2 ? v.low : v.high, twice = _mm256_permute2f128_ps(from, from, 0x11 * (j % 2));
  return {twice, twice};
}
inline f32x16 negate(f32x16 a) {
  const __m256 sign = _mm256_set1_ps(-0.f);
  return {_mm256_xor_ps(a.low, sign), _mm256_xor_ps(a.high, sign)};
}
inline f32x16 magnitude(f32x16 a) {
  const __m256 sign = _mm256_set1_ps(-0.f);
  return {_mm256_andnot_ps(sign, a.low), _mm256_andnot_ps(sign, a.high)};
}
inline __m256 or_sign(__m256 sign, __m256 a) { return _mm256_or_ps(_mm256_and_ps(_mm256_set1_ps(-0.f), sign), a); }
inline f32x16 with_sign_of(f32x16 sign, f32x16 a) { return {or_sign(sign.low, a.low), or_sign(sign.high, a.high)}; }
inline __m256 scale_eight(__m256 a, __m256 n) {
  const __m256i whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1), bias = _mm256_set1_epi32(127);
  const __m256i first = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
  const __m256i second = _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(whole, half), bias), 23);
  return _mm256_mul_ps(_mm256_mul_ps(a, _mm256_castsi256_ps(first)), _mm256_castsi256_ps(second));
}
inline f32x16 scale_by_power(f32x16 a, f32x16 n) { return {scale_eight(a.low, n.low), scale_eight(a.high, n.high)}; }

inline float fold(f32x16 v) {
  const __m256 eight = _mm256_add_ps(v.low, v.high);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

inline Piece piece_zero() { return _mm256_setzero_ps(); }
inline Piece piece_load(const float* p) { return _mm256_load_ps(p); }
inline void piece_store(float* p, Piece v) { _mm256_store_ps(p, v); }
inline Piece piece_fma(Piece a, Piece b, Piece c) { return _mm256_fmadd_ps(a, b, c); }

// Asks for memory ahead of one of `streams` places that are read at once. Many: near and into the first-level cache.
// (Zen 4, fp32, one vector: 0.86 of the read bandwidth against 0.70.) Few: further, into the second.
constexpr int kManyStreams = 6;
template <int streams>
inline __attribute__((always_inline)) void prefetch(const std::uint8_t* p) {
  if constexpr (streams >= kManyStreams)
    _mm_prefetch(reinterpret_cast<const char*>(p) + 256, _MM_HINT_T0);
  else
    _mm_prefetch(reinterpret_cast<const char*>(p) + 2048, _MM_HINT_T1);
}

inline __m256 in_order(__m256 mixed) {  // 64-bit quarters 0, 2, 1, 3
  return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(mixed), 0xd8));
}
inline void split(const float* p, f32x16& even, f32x16& odd) {
  const f32x16 a = load(p), b = load(p + 16);
  even = {in_order(_mm256_shuffle_ps(a.low, a.high, 0x88)), in_order(_mm256_shuffle_ps(b.low, b.high, 0x88))};
  odd = {in_order(_mm256_shuffle_ps(a.low, a.high, 0xdd)), in_order(_mm256_shuffle_ps(b.low, b.high, 0xdd))};
}
inline void join_eight(float* p, __m256 even, __m256 odd) {
  const __m256 a = _mm256_unpacklo_ps(even, odd), b = _mm256_unpackhi_ps(even, odd);
  _mm256_storeu_ps(p, _mm256_permute2f128_ps(a, b, 0x20));
  _mm256_storeu_ps(p + 8, _mm256_permute2f128_ps(a, b, 0x31));
}
inline void join(float* p, f32x16 even, f32x16 odd) {
  join_eight(p, even.low, odd.low);
  join_eight(p + 16, even.high, odd.high);
}

}  // namespace
}  // namespace sluice::avx2
