// How stored weights become lanes in AVX2. See formats_portable.inl.
//
// A lane takes neighbouring columns in turn, so a block decodes into its even and its odd columns.
// Source of the intrinsics: Intel Intrinsics Guide.
#pragma once

#include "compute/kernels/lanes_avx2.h"
// Uses the lanes.
#include "compute/kernels/formats_portable.inl"

namespace sluice::avx2 {
namespace {

struct F32 : Fast<F32, F32Cells> {
  static constexpr int streams(int t) { return t == 1 ? 6 : 2; }
  static void decode(const std::uint8_t* w, const std::uint8_t*, f32x16& even, f32x16& odd) {
    split(reinterpret_cast<const float*>(w), even, odd);
  }
};

struct Bf16 : Fast<Bf16, Bf16Cells> {
  static constexpr int streams(int t) { return t == 1 ? 7 : 2; }  // fourteen registers of sums
  static void decode(const std::uint8_t* w, const std::uint8_t*, f32x16& even, f32x16& odd) {
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + 32));
    const __m256i upper = _mm256_set1_epi32(-0x10000);
    even = {_mm256_castsi256_ps(_mm256_slli_epi32(a, 16)), _mm256_castsi256_ps(_mm256_slli_epi32(b, 16))};
    odd = {_mm256_castsi256_ps(_mm256_and_si256(a, upper)), _mm256_castsi256_ps(_mm256_and_si256(b, upper))};
  }
};

struct Mxfp4 : Fast<Mxfp4, Mxfp4Cells> {
  static constexpr bool kPairs = true;
  static constexpr int streams(int) { return 2; }
  // bf16 bytes of sixteen codes, looked up apart and then paired.
  static f32x16 widen(__m128i codes, __m128i low_bytes, __m128i high_bytes) {
    const __m128i low = _mm_shuffle_epi8(low_bytes, codes), high = _mm_shuffle_epi8(high_bytes, codes);
    const __m256i first = _mm256_cvtepu16_epi32(_mm_unpacklo_epi8(low, high));
    const __m256i second = _mm256_cvtepu16_epi32(_mm_unpackhi_epi8(low, high));
    return {_mm256_castsi256_ps(_mm256_slli_epi32(first, 16)), _mm256_castsi256_ps(_mm256_slli_epi32(second, 16))};
  }
  static void decode(const std::uint8_t* w, const std::uint8_t* scale, f32x16& even, f32x16& odd) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(w)), nibble = _mm_set1_epi8(15);
    const __m128i low = _mm_load_si128(reinterpret_cast<const __m128i*>(kMxfp4Tables.bf16_low[*scale]));
    const __m128i high = _mm_load_si128(reinterpret_cast<const __m128i*>(kMxfp4Tables.bf16_high[*scale]));
    even = widen(_mm_and_si128(bytes, nibble), low, high);
    odd = widen(_mm_and_si128(_mm_srli_epi16(bytes, 4), nibble), low, high);
  }

  // Two rows, one in each half of every register, so that all the byte shuffles work on 32 codes at once.
  struct Pairs {
    static constexpr int kRows = 2;
    struct Lanes {
      __m256 quarter[4];  // lanes 4 i .. 4 i + 3 of the first row, then of the second
    };
    struct Line {
      const std::uint8_t *first, *second;
    };
    static Lanes zero() {
      const __m256 none = _mm256_setzero_ps();
      return {{none, none, none, none}};
    }
    static const float* vector(const float* x) { return x; }
    static Lanes fma(const Lanes& w, const float* x, const Lanes& sum) {
      Lanes out;
      for (int i = 0; i < 4; ++i)
        out.quarter[i] = _mm256_fmadd_ps(w.quarter[i], _mm256_broadcast_ps(reinterpret_cast<const __m128*>(x + 4 * i)),
                                         sum.quarter[i]);
      return out;
    }
    static Line open(const std::uint8_t* first, const std::uint8_t* second) { return {first, second}; }
    static __m256i both(const std::uint8_t* first, const std::uint8_t* second) {
      return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(first))),
                                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(second)), 1);
    }
    // Words of a bf16 each become lanes by a shift and a mask, which leaves the shuffles' pipe alone: words 0, 2, 4, 6
    // are one quarter, words 1, 3, 5, 7 the next, so the codes come in that order.
    static Lanes widen_both(__m256i codes, __m256i low_bytes, __m256i high_bytes) {
      const __m256i low = _mm256_shuffle_epi8(low_bytes, codes), high = _mm256_shuffle_epi8(high_bytes, codes);
      const __m256i first = _mm256_unpacklo_epi8(low, high), second = _mm256_unpackhi_epi8(low, high);
      const __m256i upper = _mm256_set1_epi32(-0x10000);
      return {{_mm256_castsi256_ps(_mm256_slli_epi32(first, 16)), _mm256_castsi256_ps(_mm256_and_si256(first, upper)),
               _mm256_castsi256_ps(_mm256_slli_epi32(second, 16)),
               _mm256_castsi256_ps(_mm256_and_si256(second, upper))}};
    }
    static void decode(const Line& line, int block, const std::uint8_t* scale, const std::uint8_t* second_scale,
                       Lanes& even, Lanes& odd) {
      const __m256i in_order =
          _mm256_broadcastsi128_si256(_mm_set_epi8(15, 11, 14, 10, 13, 9, 12, 8, 7, 3, 6, 2, 5, 1, 4, 0));
      const __m256i bytes =
          _mm256_shuffle_epi8(both(line.first + block * kBlockBytes, line.second + block * kBlockBytes), in_order);
      const __m256i low = both(kMxfp4Tables.bf16_low[*scale], kMxfp4Tables.bf16_low[*second_scale]);
      const __m256i high = both(kMxfp4Tables.bf16_high[*scale], kMxfp4Tables.bf16_high[*second_scale]);
      const __m256i nibble = _mm256_set1_epi8(15);
      even = widen_both(_mm256_and_si256(bytes, nibble), low, high);
      odd = widen_both(_mm256_and_si256(_mm256_srli_epi16(bytes, 4), nibble), low, high);
    }
    static __m256 quarter_of_both(__m256 a, __m256 b, int upper) {
      return upper == 0 ? _mm256_permute2f128_ps(a, b, 0x20) : _mm256_permute2f128_ps(a, b, 0x31);
    }
    static Lanes join(const f32x16 (&rows)[2]) {
      return {{quarter_of_both(rows[0].low, rows[1].low, 0), quarter_of_both(rows[0].low, rows[1].low, 1),
               quarter_of_both(rows[0].high, rows[1].high, 0), quarter_of_both(rows[0].high, rows[1].high, 1)}};
    }
    static void fold(const Lanes& v, float (&out)[2]) {
      const __m256 four =
          _mm256_add_ps(_mm256_add_ps(v.quarter[0], v.quarter[2]), _mm256_add_ps(v.quarter[1], v.quarter[3]));
      const __m256 two = _mm256_add_ps(four, _mm256_permute_ps(four, 0xee));
      const __m256 one = _mm256_add_ps(two, _mm256_permute_ps(two, 0x55));
      out[0] = _mm256_cvtss_f32(one);
      out[1] = _mm_cvtss_f32(_mm256_extractf128_ps(one, 1));
    }
  };
};

struct F16 : Fast<F16, F16Cells> {
  static void decode(const std::uint8_t* w, const std::uint8_t*, f32x16& even, f32x16& odd) {
    alignas(32) float values[32];
    for (int i = 0; i < 32; i += 8)
      _mm256_store_ps(values + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(w + 2 * i))));
    split(values, even, odd);
  }
};

template <int group_blocks>
struct Int4 : Fast<Int4<group_blocks>, Int4Cells<group_blocks>> {
  // Bytes are widened before nibbles become numbers: a load does it, where afterwards it would take shuffles.
  static __m256 numbers(__m256i nibbles, __m256 times) {
    return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_sub_epi32(nibbles, _mm256_set1_epi32(8))), times);
  }
  static void eight(const std::uint8_t* w, __m256 times, __m256& even, __m256& odd) {
    const __m256i pairs = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(w)));
    even = numbers(_mm256_and_si256(pairs, _mm256_set1_epi32(15)), times);
    odd = numbers(_mm256_srli_epi32(pairs, 4), times);
  }
  static void decode(const std::uint8_t* w, const std::uint8_t* scale, f32x16& even, f32x16& odd) {
    const __m256 times = _mm256_set1_ps(float_at(scale));
    eight(w, times, even.low, odd.low);
    eight(w + 8, times, even.high, odd.high);
  }
};

struct Int8 : Fast<Int8, Int8Cells> {
  static void eight(const std::uint8_t* w, __m256 times, __m256& even, __m256& odd) {
    const __m256i pairs = _mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(w)));
    even = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_srai_epi32(_mm256_slli_epi32(pairs, 24), 24)), times);
    odd = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_srai_epi32(pairs, 8)), times);
  }
  static void decode(const std::uint8_t* w, const std::uint8_t* scale, f32x16& even, f32x16& odd) {
    const __m256 times = _mm256_set1_ps(float_at(scale));
    eight(w, times, even.low, odd.low);
    eight(w + 16, times, even.high, odd.high);
  }
};

// E4M3 as f16 with another bias: 2^-8 times the number, NaN apart.
template <class Cells>
struct Fp8ByHalf : Fast<Fp8ByHalf<Cells>, Cells> {
  using Careful = Portable<Cells>;
  static bool safe(const std::uint8_t* scale) {
    return magnitude_bits(Cells::scale_value(scale)) < (119u + 127u) << 23;
  }
  static f32x16 widened(__m256i halves, __m256 times) {
    return {_mm256_mul_ps(_mm256_cvtph_ps(_mm256_castsi256_si128(halves)), times),
            _mm256_mul_ps(_mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1)), times)};
  }
  static void decode(const std::uint8_t* w, const std::uint8_t* scale, f32x16& even, f32x16& odd) {
    const __m256i codes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w)), nan = _mm256_set1_epi8(127);
    if (!safe(scale) || _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_and_si256(codes, nan), nan)) != 0)
      return decode_apart<Careful>(w, scale, even, odd);
    const __m256i kept = _mm256_set1_epi16(static_cast<short>(0xbf80));
    const __m256 times = _mm256_set1_ps(Cells::scale_value(scale) * 256);
    even = widened(_mm256_and_si256(_mm256_srai_epi16(_mm256_slli_epi16(codes, 8), 1), kept), times);
    odd = widened(_mm256_and_si256(_mm256_srai_epi16(codes, 1), kept), times);
  }
};
using Fp8 = Fp8ByHalf<Fp8Cells>;
using Fp8E8m0 = Fp8ByHalf<Fp8E8m0Cells>;

}  // namespace
}  // namespace sluice::avx2
