// 64 compressed bf16 numbers in AVX-512 BW, where a plane of codes is a mask. See unpack.inl.
//
// Source of the intrinsics: Intel Intrinsics Guide.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "compute/kernels/unpack_tables.inl"

namespace sluice::SLUICE_ISA {
namespace {

struct Exponents64 {
  __m512i low, high;  // by code, in each quarter

  explicit Exponents64(const std::uint8_t* exponents) {
    const ExponentBytes bytes(exponents);
    low = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes.low)));
    high = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes.high)));
  }
  void unpack(const std::uint64_t (&planes)[3], const std::uint8_t* rest, std::uint8_t* to) const {
    __m512i code = _mm512_maskz_mov_epi8(planes[0], _mm512_set1_epi8(1));
    code = _mm512_mask_add_epi8(code, planes[1], code, _mm512_set1_epi8(2));
    code = _mm512_mask_add_epi8(code, planes[2], code, _mm512_set1_epi8(4));
    const __m512i others = _mm512_loadu_si512(rest);
    constexpr int kOrAnd = 0xf8;  // a | (b & c)
    const __m512i low_bytes =
        _mm512_ternarylogic_epi64(_mm512_shuffle_epi8(low, code), others, _mm512_set1_epi8(0x7f), kOrAnd);
    const __m512i high_bytes = _mm512_ternarylogic_epi64(_mm512_shuffle_epi8(high, code), others,
                                                         _mm512_set1_epi8(static_cast<char>(0x80)), kOrAnd);
    // unpack takes the halves of each quarter: so quarter q gets eights q and q + 4.
    const __m512i eights = _mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0);
    const __m512i l = _mm512_permutexvar_epi64(eights, low_bytes), h = _mm512_permutexvar_epi64(eights, high_bytes);
    _mm512_storeu_si512(to, _mm512_unpacklo_epi8(l, h));
    _mm512_storeu_si512(to + 64, _mm512_unpackhi_epi8(l, h));
  }
};

}  // namespace
}  // namespace sluice::SLUICE_ISA
