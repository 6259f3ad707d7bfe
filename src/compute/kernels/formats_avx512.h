// How stored weights become lanes in AVX-512, and better with the byte permutations of VBMI. See formats_portable.inl.
//
// A lane takes neighbouring columns in turn, so a block decodes into its even and its odd columns.
// Source of the intrinsics: Intel Intrinsics Guide.
#pragma once

#include "compute/kernels/lanes_avx512.h"
// Uses the lanes.
#include "compute/kernels/formats_portable.inl"

namespace sluice::SLUICE_ISA {
namespace {

// Rows walked at once: many, because a core waits for memory, as registers allow. (Not twelve for fp32: two lines of a
// row come at a time. Zen 4: 0.84 of the read bandwidth against 0.87 with eight.)
constexpr int streams_of_bf16(int t) { return t == 1 ? 12 : t == 2 ? 8 : 4; }
constexpr int streams_of_others(int t) { return t <= 2 ? 8 : 4; }

struct F32 : F32Cells {
  using Careful = F32;
  using Line = PlainLine<F32>;
  static constexpr int streams(int t) { return streams_of_others(t); }
  static void decode(const std::uint8_t* w, const std::uint8_t*, f32x16& even, f32x16& odd) {
    split(reinterpret_cast<const float*>(w), even, odd);
  }
};

struct Bf16 : Bf16Cells {
  using Careful = Bf16;
  using Line = PlainLine<Bf16>;
  static constexpr int streams(int t) { return streams_of_bf16(t); }
  static void decode(const std::uint8_t* w, const std::uint8_t*, f32x16& even, f32x16& odd) {
    const __m512i pairs = _mm512_loadu_si512(w);
    even = _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
    odd = _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(-0x10000)));
  }
};

struct F16 : F16Cells {
  using Careful = F16;
  static constexpr bool far_too(int streams) { return streams >= kManyStreams; }
  using Line = PlainLine<F16>;
  static constexpr int streams(int t) { return streams_of_others(t); }
  static void decode(const std::uint8_t* w, const std::uint8_t*, f32x16& even, f32x16& odd) {
    const __m512 low = _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(w)));
    const __m512 high = _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + 32)));
    split_registers(low, high, even, odd);
  }
};

// Sixteen values looked up by the nibbles of a line: F::table(scale).
template <class F>
struct NibbleLine {
  // Four blocks, transposed so that byte b of lane j is byte j of block b: cheaper than widening each block's bytes.
  __m512i codes;
  static NibbleLine open(const std::uint8_t* w) {
#ifdef __AVX512VBMI__
    const __m512i bytes =
        _mm512_set_epi8(63, 47, 31, 15, 62, 46, 30, 14, 61, 45, 29, 13, 60, 44, 28, 12, 59, 43, 27, 11, 58, 42, 26, 10,
                        57, 41, 25, 9, 56, 40, 24, 8, 55, 39, 23, 7, 54, 38, 22, 6, 53, 37, 21, 5, 52, 36, 20, 4, 51,
                        35, 19, 3, 50, 34, 18, 2, 49, 33, 17, 1, 48, 32, 16, 0);
    return {_mm512_permutexvar_epi8(bytes, _mm512_loadu_si512(w))};
#else
    const __m512i by_lane = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
    const __m512i bytes = _mm512_broadcast_i32x4(_mm_set_epi8(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0));
    return {_mm512_shuffle_epi8(_mm512_permutexvar_epi32(by_lane, _mm512_loadu_si512(w)), bytes)};
#endif
  }
  // The lookups heed four bits of a code.
  static void look_up(__m512i codes, __m512 table, int shift, f32x16& even, f32x16& odd) {
    even = _mm512_permutexvar_ps(shift == 0 ? codes : _mm512_srli_epi32(codes, static_cast<unsigned>(shift)), table);
    odd = _mm512_permutexvar_ps(_mm512_srli_epi32(codes, static_cast<unsigned>(shift + 4)), table);
  }
  void decode(int block, const std::uint8_t* scale, f32x16& even, f32x16& odd) const {
    look_up(codes, F::table(scale), 8 * block, even, odd);
  }
  static void decode_one(const std::uint8_t* w, const std::uint8_t* scale, f32x16& even, f32x16& odd) {
    look_up(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(w))), F::table(scale), 0, even, odd);
  }
};

struct Mxfp4 : Mxfp4Cells {
  using Careful = Mxfp4;
  using Line = NibbleLine<Mxfp4>;
  static constexpr int streams(int t) { return streams_of_others(t); }
  static __m512 table(const std::uint8_t* scale) { return _mm512_load_ps(kMxfp4Tables.value[*scale]); }
  static void decode(const std::uint8_t* w, const std::uint8_t* scale, f32x16& even, f32x16& odd) {
    Line::decode_one(w, scale, even, odd);
  }
};

template <int group_blocks>
struct Int4 : Int4Cells<group_blocks> {
  using Careful = Int4;
  using Line = NibbleLine<Int4>;
  static constexpr int streams(int t) { return streams_of_others(t); }
  static __m512 table(const std::uint8_t* scale) {  // one multiplication a group instead of one a weight
    const __m512 numbers = _mm512_set_ps(7, 6, 5, 4, 3, 2, 1, 0, -1, -2, -3, -4, -5, -6, -7, -8);
    return _mm512_mul_ps(numbers, _mm512_set1_ps(float_at(scale)));
  }
  static void decode(const std::uint8_t* w, const std::uint8_t* scale, f32x16& even, f32x16& odd) {
    Line::decode_one(w, scale, even, odd);
  }
};

// The sixteen words at w, each two numbers of 8 bits.
inline __m512i pairs_at(const std::uint8_t* w) {
  return _mm512_cvtepi16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(w)));
}

struct Int8 : Int8Cells {
  using Careful = Portable<Int8Cells>;
  static constexpr int streams(int t) { return streams_of_others(t); }
  static void decode(const std::uint8_t* w, const std::uint8_t* scale, f32x16& even, f32x16& odd) {
    const __m512i pairs = pairs_at(w);
    const __m512 times = _mm512_set1_ps(float_at(scale));
    even = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_srai_epi32(_mm512_slli_epi32(pairs, 24), 24)), times);
    odd = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_srai_epi32(pairs, 8)), times);
  }
#ifdef __AVX512VBMI__
  // One permutation puts a number on top of a lane: times 2^24, which is taken out of the scale if that is exact.
  static constexpr bool kPrepares = true, kLineByLine = true;
  static constexpr bool far_too(int streams) { return streams >= kManyStreams; }
  static float prepare(const std::uint8_t* scale) { return float_at(scale) * 0x1p-24f; }
  static bool safe(const std::uint8_t* scale) {
    const std::uint32_t exponent = word_at(scale) >> 23 & 255;
    return exponent > 24;  // infinities and NaN stay what they are
  }
  struct Line {
    __m512i bytes;
    static Line open(const std::uint8_t* w) { return {_mm512_loadu_si512(w)}; }
    template <int first>  // column of the line that lane 0 gets; lane j gets 2 j more
    static __m512 numbers(__m512i bytes, const std::uint8_t* prepared) {
      const __m512i lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
      const __m512i places =
          _mm512_slli_epi32(_mm512_add_epi32(_mm512_slli_epi32(lanes, 1), _mm512_set1_epi32(first)), 24);
      const __m512i tops = _mm512_maskz_permutexvar_epi8(0x8888888888888888u, places, bytes);
      return _mm512_mul_ps(_mm512_cvtepi32_ps(tops), _mm512_set1_ps(float_at(prepared)));
    }
    void decode(int block, const std::uint8_t* prepared, f32x16& even, f32x16& odd) const {
      even = block == 0 ? numbers<0>(bytes, prepared) : numbers<32>(bytes, prepared);
      odd = block == 0 ? numbers<1>(bytes, prepared) : numbers<33>(bytes, prepared);
    }
  };
#else
  using Line = PlainLine<Int8>;
#endif
};

}  // namespace
}  // namespace sluice::SLUICE_ISA
