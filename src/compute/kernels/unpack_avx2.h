// 64 compressed bf16 numbers in AVX2: bits of a plane become bytes of a mask. See unpack.inl.
//
// Source of the intrinsics: Intel Intrinsics Guide.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "compute/kernels/unpack_tables.inl"

namespace sluice::avx2 {
namespace {

// `value` in the bytes i where bit i of `plane` is set.
inline __m256i bytes_of(std::uint32_t plane, char value) {
  const __m256i spread =
      _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
  const __m256i bits = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201ull));
  const __m256i eights = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(plane)), spread);
  return _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_and_si256(eights, bits), bits), _mm256_set1_epi8(value));
}

struct Exponents64 {
  __m256i low, high;  // by code, in both halves

  explicit Exponents64(const std::uint8_t* exponents) {
    const ExponentBytes bytes(exponents);
    low = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes.low)));
    high = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes.high)));
  }
  void unpack(const std::uint64_t (&planes)[3], const std::uint8_t* rest, std::uint8_t* to) const {
    for (int half = 0; half < 2; ++half) {
      const int shift = 32 * half;
      const __m256i code =
          _mm256_or_si256(bytes_of(static_cast<std::uint32_t>(planes[0] >> shift), 1),
                          _mm256_or_si256(bytes_of(static_cast<std::uint32_t>(planes[1] >> shift), 2),
                                          bytes_of(static_cast<std::uint32_t>(planes[2] >> shift), 4)));
      const __m256i others = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rest + 32 * half));
      const __m256i sign = _mm256_set1_epi8(static_cast<char>(0x80));
      const __m256i low_bytes = _mm256_or_si256(_mm256_shuffle_epi8(low, code), _mm256_andnot_si256(sign, others));
      const __m256i high_bytes = _mm256_or_si256(_mm256_shuffle_epi8(high, code), _mm256_and_si256(sign, others));
      // unpack takes the halves of each half: so half h gets eights h and h + 2.
      const __m256i l = _mm256_permute4x64_epi64(low_bytes, 0xd8), h = _mm256_permute4x64_epi64(high_bytes, 0xd8);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 64 * half), _mm256_unpacklo_epi8(l, h));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 64 * half + 32), _mm256_unpackhi_epi8(l, h));
    }
  }
};

}  // namespace
}  // namespace sluice::avx2
