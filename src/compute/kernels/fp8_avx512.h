// How FP8 becomes lanes in AVX-512: through f16, or by tables of bytes with the permutations of VBMI.
//
// Even and odd columns as in formats_avx512.h. Source of the intrinsics: Intel Intrinsics Guide.
#pragma once

#include "compute/kernels/formats_avx512.h"

namespace sluice::SLUICE_ISA {
namespace {

// E4M3 as f16 with another bias: 2^-8 times the number. The code after the last number is NaN: it carries into the bit
// that makes its f16 a NaN, too. A line is staged, because a conversion from memory leaves the shuffles' pipe alone.
template <class Cells>
struct Fp8ByHalf : Cells {
  using Careful = Portable<Cells>;
  using Line = PlainLine<Fp8ByHalf>;
  static constexpr bool kStaged = true;
  static constexpr int streams(int t) { return streams_of_others(t); }
  static bool safe(const std::uint8_t* scale) {
    return magnitude_bits(Cells::scale_value(scale)) < (119u + 127u) << 23;
  }
  static float times(const std::uint8_t* scale) { return Cells::scale_value(scale) * 256; }
  // Codes that are the upper bytes of words.
  static __m512i halves(__m512i codes) {
    const __m512i number = _mm512_and_si512(_mm512_srai_epi16(codes, 1), _mm512_set1_epi16(static_cast<short>(0xbf80)));
    const __m512i carried = _mm512_add_epi16(number, _mm512_set1_epi16(0x80));
    constexpr int kFirstOrBoth = 0xf8;  // a | (b & c)
    return _mm512_ternarylogic_epi32(number, carried, _mm512_set1_epi16(0x4000), kFirstOrBoth);
  }
  static void decode(const std::uint8_t* w, const std::uint8_t* scale, f32x16& even, f32x16& odd) {
    if (!safe(scale)) return decode_apart<Careful>(w, scale, even, odd);
    const __m512i codes = _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(w)));
    const __m512 all = _mm512_set1_ps(times(scale));
    even = _mm512_mul_ps(_mm512_cvtph_ps(_mm512_castsi512_si256(halves(_mm512_slli_epi16(codes, 8)))), all);
    odd = _mm512_mul_ps(_mm512_cvtph_ps(_mm512_castsi512_si256(halves(codes))), all);
  }
  static constexpr int kStagedBytes = 256;
  static void stage(const std::uint8_t* w, std::uint8_t* staged) {
    for (int pair = 0; pair < 2; ++pair) {
      const __m512i codes = _mm512_loadu_si512(w + 64 * pair);
      _mm512_store_si512(staged + 128 * pair, halves(_mm512_slli_epi16(codes, 8)));
      _mm512_store_si512(staged + 128 * pair + 64, halves(codes));
    }
  }
  template <int block, int odd>
  static f32x16 unscaled(const std::uint8_t* staged) {
    return _mm512_cvtph_ps(
        _mm256_load_si256(reinterpret_cast<const __m256i*>(staged + block / 2 * 128 + odd * 64 + block % 2 * 32)));
  }
};
struct Fp8E8m0ByHalf : Fp8ByHalf<Fp8E8m0Cells> {
  using Careful = Fp8ByHalf<Fp8E8m0Cells>;
  static constexpr bool kVectorsTakeScales = true;
};

#ifdef __AVX512VBMI__

// E4M3 as the two bytes of a bf16, which is exact, each looked up among 128 without the sign.
struct E4m3Planes {
  __m512i low[2], high[2];  // codes 0 .. 63, 64 .. 127
  static E4m3Planes at(const std::uint8_t* low, const std::uint8_t* high) {
    return {{_mm512_load_si512(low), _mm512_load_si512(low + 64)},
            {_mm512_load_si512(high), _mm512_load_si512(high + 64)}};
  }
};

// Two blocks of codes under the same tables.
struct E4m3Pair {
  __m512i low, high;  // bytes of bf16
  static E4m3Pair look_up(__m512i codes, const E4m3Planes& planes) {
    const __m512i high = _mm512_permutex2var_epi8(planes.high[0], codes, planes.high[1]);
    constexpr int kFirstOrBoth = 0xf8;  // a | (b & c)
    return {_mm512_permutex2var_epi8(planes.low[0], codes, planes.low[1]),
            _mm512_ternarylogic_epi32(high, codes, _mm512_set1_epi8(-128), kFirstOrBoth)};
  }
  template <int first>  // column that lane 0 gets; lane j gets 2 j more
  __m512 numbers() const {
    const __m512i lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i column = _mm512_add_epi32(_mm512_slli_epi32(lanes, 1), _mm512_set1_epi32(first));
    const __m512i places = _mm512_or_si512(_mm512_slli_epi32(column, 16),
                                           _mm512_slli_epi32(_mm512_or_si512(column, _mm512_set1_epi32(64)), 24));
    return _mm512_castsi512_ps(_mm512_maskz_permutex2var_epi8(0xccccccccccccccccu, low, places, high));
  }
  void decode(int block, f32x16& even, f32x16& odd) const {
    even = block % 2 == 0 ? numbers<0>() : numbers<32>();
    odd = block % 2 == 0 ? numbers<1>() : numbers<33>();
  }
};

inline __m512i one_block(const std::uint8_t* w) {
  return _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(w)));
}

struct Fp8 : Fp8Cells {
  using Careful = Fp8;
  static constexpr bool kLineByLine = true;
  static constexpr int streams(int t) { return streams_of_others(t); }
  static E4m3Planes planes() { return E4m3Planes::at(kE4m3Tables.bf16_low, kE4m3Tables.bf16_high); }
  static void scaled(const E4m3Pair& pair, int block, const std::uint8_t* scale, f32x16& even, f32x16& odd) {
    const __m512 times = _mm512_set1_ps(float_at(scale));
    pair.decode(block, even, odd);
    even = _mm512_mul_ps(even, times);
    odd = _mm512_mul_ps(odd, times);
  }
  static void decode(const std::uint8_t* w, const std::uint8_t* scale, f32x16& even, f32x16& odd) {
    scaled(E4m3Pair::look_up(one_block(w), planes()), 0, scale, even, odd);
  }
  struct Line {
    E4m3Pair pairs[2];
    static Line open(const std::uint8_t* w) {
      return {{E4m3Pair::look_up(_mm512_loadu_si512(w), planes()),
               E4m3Pair::look_up(_mm512_loadu_si512(w + 64), planes())}};
    }
    void decode(int block, const std::uint8_t* scale, f32x16& even, f32x16& odd) const {
      scaled(pairs[block / 2], block, scale, even, odd);
    }
  };
};

// With E8M0 scales the products are exact in bf16, too, but for the three smallest: tables of them.
struct Fp8E8m0 : Fp8E8m0Cells {
  using Careful = Portable<Fp8E8m0Cells>;
  static constexpr bool far_too(int streams) { return streams >= kManyStreams; }
  static constexpr bool kLineByLine = true;
  static constexpr int streams(int t) { return streams_of_others(t); }
  static bool safe(const std::uint8_t* scale) { return *scale >= kE4m3FirstScaled; }
  static E4m3Planes planes(const std::uint8_t* scale) {
    return E4m3Planes::at(kE4m3Tables.scaled_low[*scale], kE4m3Tables.scaled_high[*scale]);
  }
  static void decode(const std::uint8_t* w, const std::uint8_t* scale, f32x16& even, f32x16& odd) {
    if (!safe(scale)) return decode_apart<Careful>(w, scale, even, odd);
    E4m3Pair::look_up(one_block(w), planes(scale)).decode(0, even, odd);
  }
  struct Line {
    __m512i codes[2];
    static Line open(const std::uint8_t* w) { return {{_mm512_loadu_si512(w), _mm512_loadu_si512(w + 64)}}; }
    void decode(int block, const std::uint8_t* scale, f32x16& even, f32x16& odd) const {
      E4m3Pair::look_up(codes[block / 2], planes(scale)).decode(block, even, odd);
    }
  };
};

// Permutations of two tables wait for one another where two multiply-adds begin a cycle: Emerald Rapids takes 13.4 and
// 15.0 cycles for a line of 64 bytes this way, 12.6 and 13.1 through f16.
template <>
struct ForTwoFmas<Fp8> {
  using Type = Fp8ByHalf<Fp8Cells>;
};
template <>
struct ForTwoFmas<Fp8E8m0> {
  using Type = Fp8E8m0ByHalf;
};

#else

using Fp8 = Fp8ByHalf<Fp8Cells>;
using Fp8E8m0 = Fp8E8m0ByHalf;

#endif

}  // namespace
}  // namespace sluice::SLUICE_ISA
