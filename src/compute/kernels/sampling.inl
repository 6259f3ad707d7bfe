// exp in double of a row of logits, as samplers need it: the operations of exact_exp (base/exact_math.cpp) one by one.
//
// Plain loops without a branch. Only single multiplications, additions, divisions and exact scaling: however a compiler
// spreads them over registers, the bits are the same.

namespace sluice::SLUICE_ISA {
namespace {

inline double double_of(std::uint64_t bits) {
  double value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
inline std::uint64_t bits_of_double(double value) {
  std::uint64_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

// Powers of two are formed from bits, not from whole numbers, which AVX2 cannot widen in step with doubles. In which
// two parts 2^n is multiplied cannot be seen: the first product is exact. Requires: -746 <= x <= 710 or NaN; beyond,
// exp is 0 and infinity as at these ends.
inline double exp_in_double(double x) {
  constexpr double kLn2High = 0x1.62e42fefa3800p-1, kLn2Low = 0x1.ef35793c76730p-45, kLog2 = 0x1.71547652b82fep0;
  constexpr double kRound = 0x1.8p52;
  constexpr std::uint64_t kRoundBits = 0x4338000000000000u;
  const double shifted = x * kLog2 + kRound, n = shifted - kRound;
  const double r = (x - n * kLn2High) - n * kLn2Low;
  double series = 1.0 / 6227020800.0;
  series = series * r + 1.0 / 479001600;
  series = series * r + 1.0 / 39916800;
  series = series * r + 1.0 / 3628800;
  series = series * r + 1.0 / 362880;
  series = series * r + 1.0 / 40320;
  series = series * r + 1.0 / 5040;
  series = series * r + 1.0 / 720;
  series = series * r + 1.0 / 120;
  series = series * r + 1.0 / 24;
  series = series * r + 1.0 / 6;
  series = series * r + 0.5;
  const double small = 1.0 + (r + (r * r) * series);
  const std::uint64_t power = bits_of_double(shifted) - kRoundBits + 2048, half = power / 2;  // n + 2048
  return (small * double_of((half - 1) << 52)) * double_of((power - half - 1) << 52);
}

// Clamping is a loop of its own: beside it, a compiler may make branches of the ends.
void exp_weights(const float* x, int count, double largest, double divisor, double* y) {
  constexpr int kNear = 256;
  for (int first = 0; first < count; first += kNear) {
    const int here = count - first < kNear ? count - first : kNear;
    double near[kNear];
    for (int i = 0; i < here; ++i) {
      const double exponent = (static_cast<double>(x[first + i]) - largest) / divisor;
      const double most = exponent > 710 ? 710 : exponent;
      near[i] = most < -746 ? -746 : most;
    }
    for (int i = 0; i < here; ++i) y[first + i] = exp_in_double(near[i]);
  }
}

}  // namespace
}  // namespace sluice::SLUICE_ISA
