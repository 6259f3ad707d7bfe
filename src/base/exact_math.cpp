// See exact_math.h.
#include "base/exact_math.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

namespace sluice {

namespace {

// ln 2 in two parts; the first has so few digits that its product with an exponent is exact.
constexpr double kLn2High = 0x1.62e42fefa3800p-1, kLn2Low = 0x1.ef35793c76730p-45;

// Requires: -1022 <= power <= 1023.
double power_of_two(int power) { return std::bit_cast<double>(static_cast<std::uint64_t>(power + 1023) << 52); }

}  // namespace

// x = n ln2 + r with |r| <= ln2/2; exp(r) = 1 + r + r^2 (1/2! + r/3! + ... + r^11/13!): the first dropped term is below
// 2^-57 of the result.
double exact_exp(double x) {
  if (std::isnan(x)) return x;
  if (x > 709.79) return std::numeric_limits<double>::infinity();
  if (x < -745.2) return 0;
  constexpr double kLog2E = 0x1.71547652b82fep0;
  constexpr double kRound = 0x1.8p52;  // at this size, a double has no digits behind the point
  const double n = (x * kLog2E + kRound) - kRound;
  const double r = (x - n * kLn2High) - n * kLn2Low;
  constexpr double kInverseFactorials[] = {
      1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
      1.0 / 720,       1.0 / 120,      1.0 / 24,      1.0 / 6,      0.5};
  double series = 1.0 / 6227020800.0;  // 1 / 13!
  for (const double coefficient : kInverseFactorials) series = series * r + coefficient;
  const double small = 1.0 + (r + (r * r) * series);
  // In two steps, so that only the last one can round: results below 2^-1022 lose digits.
  const int power = static_cast<int>(n);
  return (small * power_of_two(power / 2)) * power_of_two(power - power / 2);
}

// x = 2^n (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); with s = f / (2 + f), log(1 + f) = 2 (s + s^3/3 + s^5/5 + ...),
// arranged as f - (f^2/2 - s (f^2/2 + R)), R = 2 s^2/3 + 2 s^4/5 + ...: so that only small terms are rounded.
double exact_log(double x) {
  if (std::isnan(x) || x < 0) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0) return -std::numeric_limits<double>::infinity();
  if (std::isinf(x)) return x;
  int n = 0;
  if (x < 0x1p-1022) x *= 0x1p54, n = -54;
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  n += static_cast<int>(bits >> 52) - 1023;
  double fraction = std::bit_cast<double>((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  if (fraction > 0x1.6a09e667f3bcdp0) fraction /= 2, ++n;
  const double f = fraction - 1, s = f / (2 + f), square = s * s, half = 0.5 * f * f;
  double series = 2.0 / 25;
  for (int odd = 23; odd >= 3; odd -= 2) series = series * square + 2.0 / odd;
  const double rest = s * (half + series * square);
  return n * kLn2High - ((half - (rest + n * kLn2Low)) - f);
}

// x = n pi/2 + r with |r| <= pi/4 and little more; Taylor series of r, whose first dropped terms are below 2^-60.
// pi/2 comes in four parts, the first three of so few digits that their products with n are exact.
SineCosine exact_sine_cosine(double x) {
  constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
  constexpr double kHalfPi[] = {0x1.921fb4p+0, 0x1.4442dp-24, 0x1.846988p-48, 0x1.8cc51701b839ap-72};
  constexpr double kRound = 0x1.8p52;
  const double n = (x * kTwoOverPi + kRound) - kRound;
  double r = x;
  for (const double part : kHalfPi) r -= n * part;
  const double z = r * r;
  double sine = 1.0 / 355687428096000, cosine = 1.0 / 6402373705728000;  // 1 / 17!, 1 / 18!
  for (const double factorial : {1307674368000.0, 6227020800.0, 39916800.0, 362880.0, 5040.0, 120.0, 6.0})
    sine = 1.0 / factorial - sine * z;
  for (const double factorial : {20922789888000.0, 87178291200.0, 479001600.0, 3628800.0, 40320.0, 720.0, 24.0})
    cosine = 1.0 / factorial - cosine * z;
  sine = r - (r * z) * sine;
  cosine = 1.0 - (0.5 * z - (z * z) * cosine);
  switch (static_cast<std::int64_t>(n) & 3) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

}  // namespace sluice
