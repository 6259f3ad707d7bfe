// Tests of exact_math.h and counter_random.h.
#include "base/exact_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/counter_random.h"

namespace sluice {
namespace {

TEST(ExactMath, ExpIsWithinOneUlpOfTheCLibrary) {
  for (int step = -74000; step <= 70900; ++step) {
    const double x = step * 0.01 + 1e-5 * (step % 7);
    const double ours = exact_exp(x), theirs = std::exp(x);
    ASSERT_LE(std::fabs(ours - theirs), std::nextafter(theirs, std::numeric_limits<double>::infinity()) - theirs) << x;
  }
  EXPECT_EQ(exact_exp(0), 1);
  EXPECT_EQ(exact_exp(-std::numeric_limits<double>::infinity()), 0);
  EXPECT_EQ(exact_exp(1000), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(exact_exp(std::nan(""))));
}

TEST(ExactMath, LogIsWithinOneUlpOfTheCLibrary) {
  const auto check = [](double x) {
    const double ours = exact_log(x), theirs = std::log(x);
    const double ulp = std::nextafter(std::fabs(theirs), std::numeric_limits<double>::infinity()) - std::fabs(theirs);
    ASSERT_LE(std::fabs(ours - theirs), ulp) << x;
  };
  for (int step = 1; step <= 100000; ++step) {
    check(step * 1e-5 + 0.5);
    check(step * 0.37);
    check(std::ldexp(1.0 + step * 0x1.3p-18, step % 2046 - 1022));
  }
  check(std::numeric_limits<double>::denorm_min() * 12345);
  check(std::numeric_limits<double>::max());
  EXPECT_EQ(exact_log(1), 0);
  EXPECT_EQ(exact_log(0), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(exact_log(std::numeric_limits<double>::infinity()), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(exact_log(-1)));
  EXPECT_TRUE(std::isnan(exact_log(std::nan(""))));
}

TEST(ExactMath, ExpOfVerySmallResultsLosesOnlyTheirOwnDigits) {
  for (double x = -708; x > -746; x -= 0.013) {
    const double ours = exact_exp(x), theirs = std::exp(x);
    ASSERT_LE(std::fabs(ours - theirs), std::nextafter(theirs, 1.0) - theirs) << x;
  }
}

TEST(ExactMath, SineAndCosineAreNearTheCLibraryUpToAMillionRadians) {
  for (int step = -200'000; step <= 800'000; ++step) {
    const double x = step < 0 ? step * 1e-5 : step * 1.37 + 1e-6 * (step % 97);
    const auto [sine, cosine] = exact_sine_cosine(x);
    ASSERT_LE(std::fabs(sine - std::sin(x)), 0x1p-52) << x;
    ASSERT_LE(std::fabs(cosine - std::cos(x)), 0x1p-52) << x;
  }
  EXPECT_EQ(exact_sine_cosine(0).sine, 0);
  EXPECT_EQ(exact_sine_cosine(0).cosine, 1);
}

TEST(ExactMath, ResultsHaveTheseBitsEverywhere) {
  EXPECT_EQ(exact_log(2), 0x1.62e42fefa39efp-1);
  EXPECT_EQ(exact_log(0.1), -0x1.26bb1bbb55515p+1);
  EXPECT_EQ(exact_exp(1), 0x1.5bf0a8b14576ap+1);
  EXPECT_EQ(exact_exp(-0.5), 0x1.368b2fc6f960ap-1);
  EXPECT_EQ(exact_sine_cosine(1).sine, 0x1.aed548f090ceep-1);
  EXPECT_EQ(exact_sine_cosine(100).cosine, 0x1.b981dbf665fep-1);
}

TEST(CounterRandom, DependsOnEachArgumentAndIsEven) {
  EXPECT_NE(counter_random(1, 2, 3), counter_random(1, 2, 4));
  EXPECT_NE(counter_random(1, 2, 3), counter_random(1, 3, 3));
  EXPECT_NE(counter_random(1, 2, 3), counter_random(2, 2, 3));
  int buckets[16] = {};
  constexpr int kDraws = 160000;
  for (int position = 0; position < kDraws; ++position)
    ++buckets[static_cast<int>(counter_uniform(7, static_cast<std::uint64_t>(position)) * 16)];
  double chi_square = 0;
  for (int count : buckets) chi_square += (count - kDraws / 16.0) * (count - kDraws / 16.0) / (kDraws / 16.0);
  EXPECT_LT(chi_square, 37.7);  // 15 degrees of freedom, one in a thousand
}

}  // namespace
}  // namespace sluice
