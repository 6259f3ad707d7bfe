// Dot products of small integers in AVX2; dots_scalar.h says what each word means.
//
// maddubs multiplies unsigned with signed bytes and adds neighbours in 16 bits, where it would saturate. Nibbles stand
// for at most 12 either way: shifted by 16 they are 4 .. 28, two products are at most 2 · 28 · 127 = 7,112, and the sum
// of the low and the high columns 14,224. Bytes give their sign to the vector: |-128| · 127 · 2 = 32,512, still below
// 2^15. Source of the intrinsics: Intel Intrinsics Guide.
#pragma once

#include "compute/kernels/lanes_avx2.h"
#include "compute/kernels/table.h"

namespace sluice::avx2 {
namespace {

constexpr int kFastVectors = 2;
constexpr int fast_streams(int t) { return t == 1 ? 4 : 2; }

inline __m256i bytes_at(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
// Sums of two, of sixteen-bit numbers.
inline __m256i in_fours(__m256i pairs) { return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)); }

inline void store_whole(std::int8_t* to, const f32x16& v) {
  const __m256i pairs = _mm256_packs_epi32(_mm256_cvtps_epi32(v.low), _mm256_cvtps_epi32(v.high));  // quarters 0 2 1 3
  const __m256i ordered = _mm256_permute4x64_epi64(pairs, 0xd8);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                   _mm_packs_epi16(_mm256_castsi256_si128(ordered), _mm256_extracti128_si256(ordered, 1)));
}

struct NibbleDots {
  static constexpr bool kNibbles = true;
  static constexpr int kAhead = 2048;  // bytes of a row that are asked for ahead, into the second-level cache
  using Table = __m256i;               // shifted, in both halves
  struct Line {
    __m256i low[2], high[2];
  };
  static Table table(const std::int8_t* numbers) {
    const __m128i stored = _mm_loadu_si128(reinterpret_cast<const __m128i*>(numbers));
    return _mm256_broadcastsi128_si256(_mm_add_epi8(stored, _mm_set1_epi8(kNibbleShift)));
  }
  static Line open(const std::uint8_t* w, Table table) {
    const __m256i nibble = _mm256_set1_epi8(15);
    Line line;
    for (int half = 0; half < 2; ++half) {
      const __m256i codes = bytes_at(w + 32 * half);
      line.low[half] = _mm256_shuffle_epi8(table, _mm256_and_si256(codes, nibble));
      line.high[half] = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(codes, 4), nibble));
    }
    return line;
  }
  static void count(const std::int8_t* x, std::int32_t* counts) {
    for (int half = 0; half < 64; half += 32) {
      const __m256i shift = _mm256_set1_epi8(kNibbleShift);
      const __m256i pairs = _mm256_add_epi16(_mm256_maddubs_epi16(shift, bytes_at(x + half)),
                                             _mm256_maddubs_epi16(shift, bytes_at(x + 64 + half)));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(counts + half / 4),
                          _mm256_sub_epi32(_mm256_setzero_si256(), in_fours(pairs)));
    }
  }
  static __m256 half_dot(const Line& line, int half, const std::int8_t* x, const std::int32_t* counts) {
    const __m256i low = _mm256_maddubs_epi16(line.low[half], bytes_at(x + 32 * half));
    const __m256i high = _mm256_maddubs_epi16(line.high[half], bytes_at(x + 64 + 32 * half));
    return _mm256_cvtepi32_ps(_mm256_add_epi32(in_fours(_mm256_add_epi16(low, high)), bytes_at(counts + 8 * half)));
  }
  static f32x16 dot(const Line& line, const std::int8_t* x, const std::int32_t* counts) {
    return {half_dot(line, 0, x, counts), half_dot(line, 1, x, counts)};
  }
};

struct ByteDots {
  static constexpr bool kNibbles = false;
  static constexpr int kAhead = 768;
  struct Table {};
  struct Line {
    __m256i half[2];
  };
  static Table table(const std::int8_t*) { return {}; }
  static Line open(const std::uint8_t* w, Table) { return {{bytes_at(w), bytes_at(w + 32)}}; }
  static void count(const std::int8_t*, std::int32_t*) {}
  static __m256 half_dot(__m256i w, const std::int8_t* x) {
    return _mm256_cvtepi32_ps(in_fours(_mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(bytes_at(x), w))));
  }
  static f32x16 dot(const Line& line, const std::int8_t* x, const std::int32_t*) {
    return {half_dot(line.half[0], x), half_dot(line.half[1], x + 32)};
  }
};

inline __m256 e8m0_halves_of(__m128i bytes) {
  const __m256i words = _mm256_cvtepu8_epi32(bytes), one = _mm256_set1_epi32(1);
  return _mm256_castsi256_ps(_mm256_max_epi32(_mm256_slli_epi32(_mm256_sub_epi32(words, one), 23),
                                              _mm256_slli_epi32(_mm256_add_epi32(words, one), 21)));
}
inline f32x16 e8m0_halves(const std::uint8_t* from) {
  const __m128i order = _mm_set_epi8(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
  const __m128i bytes = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)), order);
  return {e8m0_halves_of(bytes), e8m0_halves_of(_mm_unpackhi_epi64(bytes, bytes))};
}
inline f32x16 group_scales(const std::uint8_t* from, int cols) {
  const auto* const scales = reinterpret_cast<const float*>(from);
  const __m128 a = _mm_loadu_ps(scales);
  if (cols == 128) return {_mm256_set_m128(a, a), _mm256_set_m128(a, a)};
  const __m128 b = _mm_loadu_ps(scales + 4);
  if (cols == 64) {
    const __m128 first = _mm_shuffle_ps(a, b, 0x88), second = _mm_shuffle_ps(a, b, 0xdd);
    return {_mm256_set_m128(first, first), _mm256_set_m128(second, second)};
  }
  const __m128 c = _mm_loadu_ps(scales + 8), d = _mm_loadu_ps(scales + 12);
  const __m128 low = _mm_unpacklo_ps(a, b), next_low = _mm_unpacklo_ps(c, d);
  const __m128 high = _mm_unpackhi_ps(a, b), next_high = _mm_unpackhi_ps(c, d);
  return {_mm256_set_m128(_mm_movehl_ps(next_low, low), _mm_movelh_ps(low, next_low)),
          _mm256_set_m128(_mm_movehl_ps(next_high, high), _mm_movelh_ps(high, next_high))};
}

template <int b>
f32x16 spread(const f32x16& v) {
  return {_mm256_permute_ps(v.low, b * 0x55), _mm256_permute_ps(v.high, b * 0x55)};
}

}  // namespace
}  // namespace sluice::avx2
