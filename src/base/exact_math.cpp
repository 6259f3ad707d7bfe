// See exact_math.h.
//
// x = n ln2 + r with |r| <= ln2/2 (ln2 in two parts, so that r is accurate), exp(r) by its Taylor series to the 13th
// power: the first dropped term is below 2^-57 of the result.
#include "base/exact_math.h"

#include <cmath>
#include <limits>

namespace sluice {

double exact_exp(double x) {
  if (std::isnan(x)) return x;
  if (x > 709.79) return std::numeric_limits<double>::infinity();
  if (x < -745.2) return 0;
  constexpr double kLog2E = 0x1.71547652b82fep0, kLn2High = 0x1.62e42fefa3800p-1, kLn2Low = 0x1.ef35793c76730p-45;
  const double n = std::nearbyint(x * kLog2E);
  const double r = std::fma(-n, kLn2Low, std::fma(-n, kLn2High, x));
  double series = 1.0 / 6227020800.0;  // 1 / 13!
  constexpr double kInverseFactorials[] = {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
                                           1.0 / 40320,     1.0 / 5040,     1.0 / 720,     1.0 / 120,
                                           1.0 / 24,        1.0 / 6,        0.5,           1.0};
  for (const double coefficient : kInverseFactorials) series = std::fma(series, r, coefficient);
  return std::ldexp(std::fma(series, r, 1.0), static_cast<int>(n));
}

}  // namespace sluice
