// Dot products of small integers in AVX-512, and better with those of VNNI; dots_scalar.h says what each word means.
//
// vpdpbusd multiplies unsigned with signed bytes and adds four products to 32 bits: numbers are shifted to be unsigned,
// and the counts take out what that adds. Without it as in AVX2; why nothing saturates: dots_avx2.h.
// Source of the intrinsics: Intel Intrinsics Guide.
#pragma once

#include "compute/kernels/lanes_avx512.h"
#include "compute/kernels/table.h"

namespace sluice::SLUICE_ISA {
namespace {

constexpr int kFastVectors = 4;
constexpr int fast_streams(int t) { return t == 1 ? 6 : t == 2 ? 8 : 4; }  // Zen 4: six are a sixth faster than eight

inline void store_whole(std::int8_t* to, f32x16 v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v)));
}
// Sums of four bytes, times the shift, taken from nothing.
inline __m512i negative_fours(__m512i bytes, int times) {
  const __m512i pairs = _mm512_maddubs_epi16(_mm512_set1_epi8(1), bytes);
  return _mm512_madd_epi16(pairs, _mm512_set1_epi16(static_cast<short>(-times)));
}

struct NibbleDots {
  static constexpr bool kNibbles = true;
  static constexpr int kAhead = 2048;  // bytes of a row that are asked for ahead, into the second-level cache
  using Table = __m512i;               // shifted, in every quarter
  struct Line {
    __m512i low, high;
  };
  static Table table(const std::int8_t* numbers) {
    const __m128i stored = _mm_loadu_si128(reinterpret_cast<const __m128i*>(numbers));
    return _mm512_broadcast_i32x4(_mm_add_epi8(stored, _mm_set1_epi8(kNibbleShift)));
  }
  static Line open(const std::uint8_t* w, Table table) {
    const __m512i codes = _mm512_loadu_si512(w), nibble = _mm512_set1_epi8(15);
    return {_mm512_shuffle_epi8(table, _mm512_and_si512(codes, nibble)),
            _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi16(codes, 4), nibble))};
  }
  static void count(const std::int8_t* x, std::int32_t* counts) {
    _mm512_storeu_si512(counts, _mm512_add_epi32(negative_fours(_mm512_loadu_si512(x), kNibbleShift),
                                                 negative_fours(_mm512_loadu_si512(x + 64), kNibbleShift)));
  }
  static f32x16 dot(const Line& line, const std::int8_t* x, const std::int32_t* counts) {
    const __m512i low = _mm512_loadu_si512(x), high = _mm512_loadu_si512(x + 64), from = _mm512_loadu_si512(counts);
#ifdef __AVX512VNNI__
    return _mm512_cvtepi32_ps(_mm512_dpbusd_epi32(_mm512_dpbusd_epi32(from, line.low, low), line.high, high));
#else
    const __m512i pairs = _mm512_add_epi16(_mm512_maddubs_epi16(line.low, low), _mm512_maddubs_epi16(line.high, high));
    return _mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_madd_epi16(pairs, _mm512_set1_epi16(1)), from));
#endif
  }
};

struct ByteDots {
  static constexpr bool kNibbles = false;
  static constexpr int kAhead = 768;
  struct Table {};
  struct Line {
    __m512i bytes;
  };
  static Table table(const std::int8_t*) { return {}; }
#ifdef __AVX512VNNI__
  static void count(const std::int8_t* x, std::int32_t* counts) {
    _mm512_storeu_si512(counts, negative_fours(_mm512_loadu_si512(x), kByteShift));
  }
  static Line open(const std::uint8_t* w, Table) {
    return {_mm512_xor_si512(_mm512_loadu_si512(w), _mm512_set1_epi8(-kByteShift))};
  }
  static f32x16 dot(const Line& line, const std::int8_t* x, const std::int32_t* counts) {
    return _mm512_cvtepi32_ps(_mm512_dpbusd_epi32(_mm512_loadu_si512(counts), line.bytes, _mm512_loadu_si512(x)));
  }
#else
  static void count(const std::int8_t*, std::int32_t*) {}
  static Line open(const std::uint8_t* w, Table) { return {_mm512_loadu_si512(w)}; }
  static f32x16 dot(const Line& line, const std::int8_t* x, const std::int32_t*) {
    const __m512i numbers = _mm512_loadu_si512(x);
    const __m512i turned =
        _mm512_mask_sub_epi8(numbers, _mm512_movepi8_mask(line.bytes), _mm512_setzero_si512(), numbers);
    const __m512i pairs = _mm512_maddubs_epi16(_mm512_abs_epi8(line.bytes), turned);
    return _mm512_cvtepi32_ps(_mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
  }
#endif
};

inline f32x16 e8m0_halves(const std::uint8_t* from) {
  const __m128i order = _mm_set_epi8(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
  const __m128i bytes = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)), order);
  const __m512i words = _mm512_cvtepu8_epi32(bytes), one = _mm512_set1_epi32(1);
  return _mm512_castsi512_ps(_mm512_max_epi32(_mm512_slli_epi32(_mm512_sub_epi32(words, one), 23),
                                              _mm512_slli_epi32(_mm512_add_epi32(words, one), 21)));
}
inline f32x16 group_scales(const std::uint8_t* from, int cols) {
  if (cols == 128) return _mm512_broadcast_f32x4(_mm_loadu_ps(reinterpret_cast<const float*>(from)));
  if (cols == 64) {
    const __m512i order = _mm512_set_epi32(7, 5, 3, 1, 7, 5, 3, 1, 6, 4, 2, 0, 6, 4, 2, 0);
    const __m256 scales = _mm256_loadu_ps(reinterpret_cast<const float*>(from));
    return _mm512_permutexvar_ps(order, _mm512_castps256_ps512(scales));
  }
  const __m512i order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
  return _mm512_permutexvar_ps(order, _mm512_loadu_ps(from));
}

template <int b>
f32x16 spread(f32x16 v) {
  return _mm512_permute_ps(v, b * 0x55);
}

}  // namespace
}  // namespace sluice::SLUICE_ISA
