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

// Every code narrows to itself, and halfway between two neighbours to the even one of them.
template <class Widen, class Narrow>
void expect_nearest(unsigned codes, unsigned first_not_finite, Widen widen, Narrow narrow) {
  for (unsigned code = 0; code < first_not_finite; ++code)
    for (const float sign : {1.f, -1.f}) {
      const unsigned signed_code = code | (sign < 0 ? codes : 0);
      const float value = widen(signed_code);
      EXPECT_EQ(std::signbit(value), sign < 0);
      EXPECT_EQ(narrow(value), signed_code);
      if (code + 1 == first_not_finite) continue;
      const float next = widen(signed_code + 1), halfway = value + (next - value) / 2;
      EXPECT_LT(std::fabs(value), std::fabs(next));
      EXPECT_EQ(narrow(halfway), signed_code + (code & 1u));
      EXPECT_EQ(narrow(std::nextafter(halfway, value)), signed_code);
      EXPECT_EQ(narrow(std::nextafter(halfway, next)), signed_code + 1);
    }
}

TEST(Numbers, F16IsBinary16) {
  expect_nearest(
      0x8000, 0x7c00, [](unsigned code) { return f16_to_f32(static_cast<std::uint16_t>(code)); },
      [](float value) -> unsigned { return f32_to_f16(value); });
  EXPECT_EQ(f16_to_f32(0x3c01), 1 + 0x1p-10f);
  EXPECT_EQ(f16_to_f32(0x0001), 0x1p-24f);
  EXPECT_EQ(f16_to_f32(0xfc00), -INFINITY);
  EXPECT_TRUE(std::isnan(f16_to_f32(0x7c01)));
  EXPECT_EQ(f32_to_f16(65519.f), 0x7bff);
  EXPECT_EQ(f32_to_f16(-65520.f), 0xfc00);
  EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(std::nanf("")))));
}

TEST(Numbers, E4m3HasNoInfinities) {
  expect_nearest(
      0x80, 0x7f, [](unsigned code) { return e4m3_to_f32(static_cast<std::uint8_t>(code)); },
      [](float value) -> unsigned { return f32_to_e4m3(value); });
  EXPECT_EQ(e4m3_to_f32(0x38), 1.f);
  EXPECT_EQ(e4m3_to_f32(0xfe), -448.f);
  EXPECT_EQ(e4m3_to_f32(0x01), 0x1p-9f);
  EXPECT_TRUE(std::isnan(e4m3_to_f32(0x7f)) && std::isnan(e4m3_to_f32(0xff)));
  EXPECT_EQ(f32_to_e4m3(1e9f), 0x7e);
  EXPECT_EQ(f32_to_e4m3(-INFINITY), 0xfe);
  EXPECT_TRUE(std::isnan(e4m3_to_f32(f32_to_e4m3(std::nanf("")))));
}

}  // namespace
}  // namespace sluice
