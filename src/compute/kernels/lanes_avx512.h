// f32x16 in AVX-512: sixteen float lanes in one register.
//
// The vocabulary of the kernel bodies (*.inl); lanes_scalar.h says what each word means. Needs AVX-512 F, BW, DQ, VL.
// Source of the intrinsics: Intel Intrinsics Guide.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "compute/kernels/table.h"

namespace sluice::SLUICE_ISA {
namespace {  // nothing here may be seen, or chosen by the linker, elsewhere

using f32x16 = __m512;
using Piece = __m512;  // what a register holds
constexpr int kPieceLanes = 16;
constexpr int kPassRows = 4;  // vectors that meet a few rows of weights in registers
// Two multiply-adds a cycle (Skylake, Sapphire Rapids) want many vectors nearer than passes leave them; with one (Zen
// 4) passes are faster.
constexpr Tiles kTiles = Tiles::with_two_fmas;
constexpr int kTileOuts = 4;  // of a tile of kTileOuts x kPanelRows chains

constexpr int kStateColumns = 8;  // f32x16 of columns that a recurrence keeps in registers

inline f32x16 zero() { return _mm512_setzero_ps(); }
inline f32x16 set1(float value) { return _mm512_set1_ps(value); }
inline f32x16 load(const float* p) { return _mm512_loadu_ps(p); }
inline void store(float* p, f32x16 v) { _mm512_storeu_ps(p, v); }
inline __mmask16 first_lanes(int n) { return static_cast<__mmask16>((1u << n) - 1u); }
inline f32x16 load_part(const float* p, int n) { return _mm512_maskz_loadu_ps(first_lanes(n), p); }
inline void store_part(float* p, f32x16 v, int n) { _mm512_mask_storeu_ps(p, first_lanes(n), v); }
inline f32x16 first_of(f32x16 v, int n) { return _mm512_maskz_mov_ps(first_lanes(n), v); }
inline f32x16 load_strided(const float* p, int stride) {
  const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  return _mm512_i32gather_ps(_mm512_mullo_epi32(lane, _mm512_set1_epi32(stride)), p, 4);
}
inline float first(f32x16 v) { return _mm512_cvtss_f32(v); }

inline f32x16 add(f32x16 a, f32x16 b) { return _mm512_add_ps(a, b); }
inline f32x16 sub(f32x16 a, f32x16 b) { return _mm512_sub_ps(a, b); }
inline f32x16 mul(f32x16 a, f32x16 b) { return _mm512_mul_ps(a, b); }
inline f32x16 div(f32x16 a, f32x16 b) { return _mm512_div_ps(a, b); }
inline f32x16 sqrt(f32x16 a) { return _mm512_sqrt_ps(a); }
inline f32x16 fma(f32x16 a, f32x16 b, f32x16 c) { return _mm512_fmadd_ps(a, b, c); }
inline f32x16 max(f32x16 a, f32x16 b) { return _mm512_max_ps(a, b); }
inline f32x16 min(f32x16 a, f32x16 b) { return _mm512_min_ps(a, b); }
inline f32x16 if_less(f32x16 a, f32x16 b, f32x16 yes, f32x16 no) {
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), no, yes);
}
inline std::uint32_t lanes_less(f32x16 a, f32x16 b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
template <int k>
inline f32x16 of_each_four(f32x16 v) {
  return _mm512_permute_ps(v, 0x55 * k);
}
template <int j>
inline f32x16 four_times(f32x16 v) {
  return _mm512_shuffle_f32x4(v, v, 0x55 * j);
}
inline f32x16 negate(f32x16 a) { return _mm512_xor_ps(a, _mm512_set1_ps(-0.f)); }
inline f32x16 magnitude(f32x16 a) { return _mm512_andnot_ps(_mm512_set1_ps(-0.f), a); }
inline f32x16 with_sign_of(f32x16 sign, f32x16 a) { return _mm512_or_ps(_mm512_and_ps(_mm512_set1_ps(-0.f), sign), a); }
inline f32x16 scale_by_power(f32x16 a, f32x16 n) { return _mm512_scalef_ps(a, n); }

inline float fold(f32x16 v) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

inline Piece piece_zero() { return _mm512_setzero_ps(); }
inline Piece piece_load(const float* p) { return _mm512_load_ps(p); }
inline void piece_store(float* p, Piece v) { _mm512_store_ps(p, v); }
inline Piece piece_fma(Piece a, Piece b, Piece c) { return _mm512_fmadd_ps(a, b, c); }

// Asks for memory ahead of one of `streams` places that are read at once. Many: near and into the first-level cache,
// where rows that meet in the same sets must not push each other out. (Zen 4, bf16, one vector: 0.87 of the read
// bandwidth against 0.77 with 2 KiB.) Few: further, into the second. Some formats gain from both: F::far_too.
constexpr int kManyStreams = 8;
template <int streams>
inline __attribute__((always_inline)) void prefetch(const std::uint8_t* p) {
  if constexpr (streams >= kManyStreams)
    _mm_prefetch(reinterpret_cast<const char*>(p) + 256, _MM_HINT_T0);
  else
    _mm_prefetch(reinterpret_cast<const char*>(p) + 2048, _MM_HINT_T1);
}

inline void split_registers(f32x16 low, f32x16 high, f32x16& even, f32x16& odd) {
  const __m512i evens = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i odds = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
  even = _mm512_permutex2var_ps(low, evens, high);
  odd = _mm512_permutex2var_ps(low, odds, high);
}
inline void split(const float* p, f32x16& even, f32x16& odd) {
  split_registers(_mm512_loadu_ps(p), _mm512_loadu_ps(p + 16), even, odd);
}
inline void join(float* p, f32x16 even, f32x16 odd) {
  const __m512i lows = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const __m512i highs = _mm512_set_epi32(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8);
  _mm512_storeu_ps(p, _mm512_permutex2var_ps(even, lows, odd));
  _mm512_storeu_ps(p + 16, _mm512_permutex2var_ps(even, highs, odd));
}

}  // namespace
}  // namespace sluice::SLUICE_ISA
