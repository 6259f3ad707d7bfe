// Tests of activation_rounding.h: the worked examples of DeepSeek-V4's spec (3.10), ties, floors of the scales, blocks
// and what is no number. Random vectors against an independent oracle: tests/golden/deepseek_v4_parity_test.cpp.
#include "compute/activation_rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace sluice {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// One row through a rounding.
template <class Rounding>
std::vector<float> rounded(std::vector<float> values, Rounding rounding) {
  const int width = static_cast<int>(values.size());
  rounding(Rows{values.data(), 1, width, width});
  return values;
}
std::vector<float> fp8(std::vector<float> values, int block = kFp8InputBlock) {
  return rounded(std::move(values), [=](Rows x) { round_to_fp8(x, block); });
}
std::vector<float> fp4(std::vector<float> values, int block = 32) {
  return rounded(std::move(values), [=](Rows x) { round_to_fp4(x, block); });
}

TEST(ActivationRounding, Bf16TiesGoToEven) {
  EXPECT_EQ(rounded({1.00390625f, 1.01171875f, -3.14159265f, 0x1.fffffep127f}, round_to_bf16),
            (std::vector<float>{1.f, 1.015625f, -3.140625f, std::numeric_limits<float>::infinity()}));
}

TEST(ActivationRounding, TheSpecificationsExamples) {
  EXPECT_EQ(fp8({1, -3.3f, .02f, 7.9f}), (std::vector<float>{1, -3.25f, .01953125f, 8}));
  EXPECT_EQ(fp4({.1f, -.9f, 2.6f, 5.1f}), (std::vector<float>{0, -1, 3, 6}));
}

// The scale is the least power of two that keeps the largest number in the format: at its end exactly, and just behind.
// Where FP8 floats a scale cannot be seen; below, its least steps are 2^-9 of it.
TEST(ActivationRounding, ScalesAtTheEndOfAFormat) {
  EXPECT_EQ(fp8({448, .0022f, 9.5f}), (std::vector<float>{448, .001953125f, 10}));
  EXPECT_EQ(fp8({-450, .0022f, 9.5f}), (std::vector<float>{-448, .00390625f, 10}));
  EXPECT_EQ(fp4({6, 0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5}), (std::vector<float>{6, 0, 1, 1, 2, 2, 4, 4}));
  EXPECT_EQ(fp4({6.5f, 0.75f, 1.5f}), (std::vector<float>{6, 1, 2}));
}

// Without the floor of 1e-4 a vector of tiny numbers would be kept in full.
TEST(ActivationRounding, TinyVectors) {
  const float step = std::ldexp(1.f, -22 - 9);  // the scale of 1e-4, and the format's least number
  EXPECT_EQ(fp8({1.4f * step, 0.5f * step, -0.6f * step, 0}), (std::vector<float>{step, 0, -step, 0}));
  EXPECT_EQ(fp4({0, -0.f, 0}), (std::vector<float>{0, 0, 0}));
}

// 3.10: the inputs of products share a scale in runs of 128, which models of small widths do not show.
TEST(ActivationRounding, InputsShareAScaleInRunsOf128) {
  std::vector<float> values(256, .0022f);
  values[0] = 448;
  const std::vector<float> back = fp8(values);
  EXPECT_EQ(back[127], .001953125f);
  EXPECT_EQ(back[128], .002197265625f);
}

TEST(ActivationRounding, BlocksHaveScalesOfTheirOwnAndTheLastMayBeShort) {
  const float coarse = .001953125f, fine = .002197265625f;  // what becomes of .0022 beside 448, and beside 1
  EXPECT_EQ(fp8({448, .0022f, 1, .0022f, .0022f}, 2), (std::vector<float>{448, coarse, 1, fine, fine}));
  EXPECT_EQ(fp8({448, .0022f, 1, .0022f, .0022f}, 4), (std::vector<float>{448, coarse, 1, coarse, fine}));
  EXPECT_EQ(fp4({6, .3f, 1.5f, .3f}, 2), (std::vector<float>{6, .5f, 1.5f, .25f}));
  EXPECT_EQ(fp4({6, .3f, 1.5f, .3f}, 4), (std::vector<float>{6, .5f, 1.5f, .5f}));
  std::vector<float> rows = {6, .3f, 99, 1.5f, .3f, 99};
  round_to_fp4(Rows{rows.data(), 2, 2, 3}, 2);
  EXPECT_EQ(rows, (std::vector<float>{6, .5f, 99, 1.5f, .25f, 99}));
}

TEST(ActivationRounding, NanSpreadsOverItsBlockAndNoFurther) {
  for (const auto& row : {fp8({kNan, 2, 3, 4}, 2), fp8({2, kNan, 3, 4}, 2), fp4({kNan, 2, 3, 4}, 2)}) {
    EXPECT_TRUE(std::isnan(row[0]) && std::isnan(row[1]));
    EXPECT_EQ(row[2], 3);
    EXPECT_EQ(row[3], 4);
  }
  EXPECT_TRUE(std::isnan(fp8({std::numeric_limits<float>::infinity(), 1})[1]));
  EXPECT_TRUE(std::isnan(rounded({kNan}, round_to_bf16)[0]));
}

// H of four: rows + + + +, + - + -, + + - -, + - - +.
TEST(ActivationRounding, HadamardIsSylvesters) {
  const auto turned = [](Rows x) { hadamard(x, 4); };
  EXPECT_EQ(rounded({1, 2, 4, 8, 2, 0, 0, 0}, turned), (std::vector<float>{7.5f, -2.5f, -4.5f, 1.5f, 1, 1, 1, 1}));
}

// Mean 5; 1 / sqrt(5) = 0.44721 becomes 0.447265625; three times that is 1.341796875.
TEST(ActivationRounding, NormInBf16) {
  const auto norm = [](Rows x) { rms_norm_in_bf16(x, 2, 0.f); };
  EXPECT_EQ(rounded({1, 3, 3, 1}, norm), (std::vector<float>{0.447265625f, 1.34375f, 1.34375f, 0.447265625f}));
}

}  // namespace
}  // namespace sluice
