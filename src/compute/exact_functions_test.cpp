// Tests of exact_functions.h: error against fp64 over the whole range of fp32, special values.
#include "compute/exact_functions.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "support/sweep.h"

namespace sluice {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Distance between neighbouring floats at `value`.
double ulp_at(double value) {
  const double size = std::fabs(value);
  if (size < std::ldexp(1.0, -126)) return std::ldexp(1.0, -149);
  int exponent;
  std::frexp(size, &exponent);
  return std::ldexp(1.0, exponent - 24);
}

// Largest error in ulp over every `step`-th bit pattern, negative values and subnormals included.
template <class Function, class Oracle>
double worst_ulp(Function function, Oracle oracle, std::uint64_t step) {
  double worst = 0;
  for (std::uint64_t bits = 0; bits < (1ull << 32); bits += step) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (std::isnan(x)) continue;
    const double exact = oracle(static_cast<double>(x));
    const float got = function(x);
    if (exact > std::numeric_limits<float>::max()) {  // rounds to infinity from half an ulp above the largest on
      EXPECT_TRUE(std::isinf(got) || exact < 0x1.ffffffp127) << x;
      continue;
    }
    worst = std::max(worst, std::fabs(static_cast<double>(got) - exact) / ulp_at(exact));
  }
  return worst;
}

double sigmoid64(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }

double softplus64(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

TEST(ExactFunctions, ErrorIsBoundedOverAllOfFp32) {
  // Coprime to 2: every exponent and all low bits are met.
  const auto step = 499 * static_cast<std::uint64_t>(test::sweep_stride());
  EXPECT_LE(worst_ulp(
                exact_exp, [](double x) { return std::exp(x); }, step),
            0.76);
  EXPECT_LE(worst_ulp(exact_sigmoid, sigmoid64, step), 1.46);
  EXPECT_LE(worst_ulp(
                exact_tanh, [](double x) { return std::tanh(x); }, step),
            1.35);
  EXPECT_LE(worst_ulp(exact_softplus, softplus64, step), 2.53);
}

TEST(ExactFunctions, ErrorIsBoundedWhereModelsLive) {
  double worst_exp = 0, worst_sigmoid = 0, worst_tanh = 0;
  for (int i = -2'000'000; i <= 2'000'000; i += test::sweep_stride()) {
    const float x = static_cast<float>(i) * 1.07e-5f;  // about -21 .. 21, finer than 1e-5
    const double wide = static_cast<double>(x);
    const auto error = [&](float got, double exact) {
      return std::fabs(static_cast<double>(got) - exact) / ulp_at(exact);
    };
    worst_exp = std::max(worst_exp, error(exact_exp(x), std::exp(wide)));
    worst_sigmoid = std::max(worst_sigmoid, error(exact_sigmoid(x), sigmoid64(wide)));
    worst_tanh = std::max(worst_tanh, error(exact_tanh(x), std::tanh(wide)));
  }
  EXPECT_LE(worst_exp, 0.65);
  EXPECT_LE(worst_sigmoid, 1.46);
  EXPECT_LE(worst_tanh, 1.35);
}

TEST(ExactFunctions, SpecialValues) {
  EXPECT_EQ(exact_exp(0.f), 1.f);
  EXPECT_EQ(exact_exp(-0.f), 1.f);
  EXPECT_EQ(exact_exp(kInfinity), kInfinity);
  EXPECT_EQ(exact_exp(-kInfinity), 0.f);
  EXPECT_EQ(exact_exp(88.8f), kInfinity);
  EXPECT_EQ(exact_exp(-103.f), std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(exact_exp(-104.f), 0.f);
  EXPECT_EQ(exact_sigmoid(0.f), 0.5f);
  EXPECT_EQ(exact_sigmoid(kInfinity), 1.f);
  EXPECT_EQ(exact_sigmoid(-kInfinity), 0.f);
  EXPECT_EQ(exact_tanh(kInfinity), 1.f);
  EXPECT_EQ(exact_tanh(-kInfinity), -1.f);
  EXPECT_TRUE(std::signbit(exact_tanh(-0.f)));
  EXPECT_EQ(exact_tanh(std::numeric_limits<float>::denorm_min()), std::numeric_limits<float>::denorm_min());
  for (float nan : {std::nanf(""), -std::nanf("")}) {
    EXPECT_TRUE(std::isnan(exact_exp(nan)));
    EXPECT_TRUE(std::isnan(exact_sigmoid(nan)));
    EXPECT_TRUE(std::isnan(exact_tanh(nan)));
  }
}

}  // namespace
}  // namespace sluice
