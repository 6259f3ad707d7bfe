// Tests of numbers.h: every code of the small formats, rounding of the wide one.
#include "base/numbers.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sluice {
namespace {

TEST(Numbers, Bf16RoundTripsAndRoundsToEven) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const float value = bf16_to_f32(static_cast<std::uint16_t>(bits));
    if (!std::isnan(value)) {
      EXPECT_EQ(f32_to_bf16(value), bits);
    }
  }
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3f808000u)), 0x3f80);  // halfway, even below
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3f818000u)), 0x3f82);  // halfway, even above
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::nanf("")))));
}

TEST(Numbers, E2m1NearestWithTiesToEvenCode) {
  for (unsigned code = 0; code < 16; ++code) EXPECT_EQ(f32_to_e2m1(e2m1_to_f32(code)), code);
  EXPECT_EQ(f32_to_e2m1(0.25f), 0u);  // between 0 (code 0) and 0.5 (code 1)
  EXPECT_EQ(f32_to_e2m1(0.75f), 2u);  // between 0.5 (code 1) and 1 (code 2)
  EXPECT_EQ(f32_to_e2m1(2.5f), 4u);
  EXPECT_EQ(f32_to_e2m1(5.f), 6u);
  EXPECT_EQ(f32_to_e2m1(-100.f), 15u);
}

TEST(Numbers, E8m0IsAPowerOfTwoDownToTheSubnormal) {
  for (int byte = 0; byte < 255; ++byte)
    EXPECT_EQ(e8m0_to_f32(static_cast<std::uint8_t>(byte)), std::ldexp(1.f, byte - 127));
  EXPECT_TRUE(std::isnan(e8m0_to_f32(255)));
}

}  // namespace
}  // namespace sluice
