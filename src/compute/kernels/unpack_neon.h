// 64 compressed bf16 numbers in NEON: bits of a plane become bytes of a mask. See unpack.inl.
//
// Source of the intrinsics: Arm Intrinsics reference, Advanced SIMD.
#pragma once

#include <arm_neon.h>

#include <cstdint>

#include "compute/kernels/unpack_tables.inl"

namespace sluice::neon {
namespace {

struct Exponents64 {
  uint8x16_t low, high;  // by code

  explicit Exponents64(const std::uint8_t* exponents) {
    const ExponentBytes bytes(exponents);
    low = vld1q_u8(bytes.low);
    high = vld1q_u8(bytes.high);
  }
  // `value` in the bytes i where bit i of `plane` is set.
  static uint8x16_t bytes_of(std::uint64_t plane, std::uint8_t value) {
    const uint8x16_t eights =
        vcombine_u8(vdup_n_u8(static_cast<std::uint8_t>(plane)), vdup_n_u8(static_cast<std::uint8_t>(plane >> 8)));
    const uint8x16_t bits = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201ull));
    return vandq_u8(vtstq_u8(eights, bits), vdupq_n_u8(value));
  }
  void unpack(const std::uint64_t (&planes)[3], const std::uint8_t* rest, std::uint8_t* to) const {
    const uint8x16_t sign = vdupq_n_u8(0x80);
    for (int quarter = 0; quarter < 4; ++quarter) {
      const int shift = 16 * quarter;
      const uint8x16_t code = vorrq_u8(bytes_of(planes[0] >> shift, 1),
                                       vorrq_u8(bytes_of(planes[1] >> shift, 2), bytes_of(planes[2] >> shift, 4)));
      const uint8x16_t others = vld1q_u8(rest + shift);
      uint8x16x2_t numbers;
      numbers.val[0] = vorrq_u8(vqtbl1q_u8(low, code), vbicq_u8(others, sign));
      numbers.val[1] = vorrq_u8(vqtbl1q_u8(high, code), vandq_u8(others, sign));
      vst2q_u8(to + 2 * shift, numbers);
    }
  }
};

}  // namespace
}  // namespace sluice::neon
