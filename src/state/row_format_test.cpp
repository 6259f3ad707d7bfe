// Tests of row_format.h: what narrow rows keep of their numbers, and that they keep it for good.
#include "state/row_format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace sluice {
namespace {

std::vector<float> kept(RowFormat format, const std::vector<float>& values) {
  std::vector<float> row(static_cast<std::size_t>(row_words(format, static_cast<int>(values.size())))),
      back(values.size());
  store_row(format, values, row.data());
  load_row(format, row.data(), back);
  return back;
}

TEST(RowFormat, NamesAreThoseOfTheFlag) {
  for (const char* name : {"fp32", "bf16", "int8"}) EXPECT_EQ(row_format_name(find_row_format(name).value()), name);
  EXPECT_FALSE(find_row_format("f32"));
}

TEST(RowFormat, RowsTakeHalfAndAQuarter) {
  EXPECT_EQ(row_words(RowFormat::fp32, 576), 576);
  EXPECT_EQ(row_words(RowFormat::bf16, 576), 288);
  EXPECT_EQ(row_words(RowFormat::int8, 576), 144 + 9) << "and a scale for 64 numbers";
  EXPECT_EQ(row_words(RowFormat::bf16, 7), 4);
  EXPECT_EQ(row_words(RowFormat::int8, 65), 17 + 2);
}

TEST(RowFormat, Bf16RoundsToTheNearestEven) {
  const std::vector<float> values = {1.0f, 0x1.01p0f, 0x1.03p0f, 0x1.010002p0f, -0x1.01p0f, 0.0f};
  const std::vector<float> wanted = {1.0f, 1.0f, 0x1.04p0f, 0x1.02p0f, -1.0f, 0.0f};
  EXPECT_EQ(kept(RowFormat::bf16, values), wanted);
}

TEST(RowFormat, Int8IsWithinHalfAStepOfItsGroup) {
  std::mt19937 random(5);
  for (const int width : {1, 3, 63, 64, 65, 200, 576}) {
    std::vector<float> values(static_cast<std::size_t>(width));
    for (std::size_t place = 0; place < values.size(); ++place) {
      const float size = place < 64 ? 1.0f : 1000.0f;  // groups do not spoil each other
      values[place] = std::normal_distribution<float>(0, size)(random);
    }
    const std::vector<float> back = kept(RowFormat::int8, values);
    for (std::size_t place = 0; place < values.size(); ++place) {
      const std::size_t first = place / 64 * 64;
      float largest = 0;
      for (std::size_t other = first; other < std::min(first + 64, values.size()); ++other)
        largest = std::max(largest, std::abs(values[other]));
      EXPECT_LE(std::abs(values[place] - back[place]), largest / 127 * 0.5001f) << width << " " << place;
    }
    EXPECT_EQ(kept(RowFormat::int8, back), back) << "rounded once, rounded for good";
  }
}

TEST(RowFormat, ZeroTinyAndHugeNumbersStand) {
  for (const RowFormat format : {RowFormat::bf16, RowFormat::int8}) {
    EXPECT_EQ(kept(format, {0.0f, 0.0f}), (std::vector<float>{0.0f, 0.0f}));
    for (const float size : {std::numeric_limits<float>::denorm_min(), 0x1p-130f, 0x1p-126f, 0x1.fep127f}) {
      const std::vector<float> back = kept(format, {size, -size, 0.0f});
      EXPECT_TRUE(std::isfinite(back[0])) << size;
      EXPECT_LE(std::abs(back[0]), 1.01f * size);
      EXPECT_EQ(back[0], -back[1]);
    }
  }
}

// Logits are checked for numbers: a row must not make one out of what is none.
TEST(RowFormat, WhatIsNoNumberStaysNone) {
  for (const RowFormat format : {RowFormat::bf16, RowFormat::int8})
    for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity()}) {
      std::vector<float> values(70, 1.0f);
      values[66] = wrong;
      const std::vector<float> back = kept(format, values);
      EXPECT_FALSE(std::isfinite(back[66]));
      EXPECT_TRUE(std::isfinite(back[0]));
    }
}

}  // namespace
}  // namespace sluice
