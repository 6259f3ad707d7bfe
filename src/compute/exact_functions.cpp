// See exact_functions.h. Every line is one rounded operation (or none): the kernels repeat them in this order.
#include "compute/exact_functions.h"

#include <bit>
#include <cstdint>

#include "compute/kernels/exact_constants.h"

namespace sluice {

namespace {

// p · 2^n with one rounding; two factors because 2^n alone may be subnormal or infinite. Requires: -252 <= n <= 254.
float scale_by_power(float p, std::int32_t n) {
  const std::int32_t half = n >> 1;
  const auto power = [](std::int32_t e) { return std::bit_cast<float>(static_cast<std::uint32_t>(e + 127) << 23); };
  return (p * power(half)) * power(n - half);
}

}  // namespace

float exact_exp(float x) {
  using namespace exact_constants;
  if (x != x) return x;
  x = kExpLowest > x ? kExpLowest : x;
  x = kExpHighest < x ? kExpHighest : x;
  const float n = fma(x, kLog2E, kRoundMagic) - kRoundMagic;
  const float high = fma(n, kMinusLn2High, x);  // exact
  const float r = fma(n, kMinusLn2Low, high);
  const float r_rest = fma(n, kMinusLn2Low, high - r);  // what rounding r lost
  float q = fma(kExp7, r, kExp6);
  q = fma(q, r, kExp5);
  q = fma(q, r, kExp4);
  q = fma(q, r, kExp3);
  q = fma(q, r, kExp2);
  const float tail = fma(r * r, q, r_rest);
  const float sum = 1.f + r;
  const float p = sum + ((r - (sum - 1.f)) + tail);
  return scale_by_power(p, static_cast<std::int32_t>(n));
}

float exact_sigmoid(float x) {
  const float e = exact_exp(x < 0.f ? x : -x);  // exp(-|x|): never overflows
  const float above = x < 0.f ? e : 1.f;
  const float below = 1.f + e;
  const float below_rest = e - (below - 1.f);  // what rounding lost; exact
  const float q = above / below;
  float rest = fma(-q, below, above);
  rest = fma(-q, below_rest, rest);
  return q + rest / below;
}

float exact_tanh(float x) {
  using namespace exact_constants;
  const float size = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0x7fffffffu);
  float result;
  if (size < kTanhSmall) {
    const float z = size * size;
    float q = fma(kTanh13, z, kTanh11);
    q = fma(q, z, kTanh9);
    q = fma(q, z, kTanh7);
    q = fma(q, z, kTanh5);
    q = fma(q, z, kTanh3);
    result = fma(size * z, q, size);
  } else {
    result = 1.f - 2.f / (exact_exp(size + size) + 1.f);
  }
  const std::uint32_t sign = std::bit_cast<std::uint32_t>(x) & 0x80000000u;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(result) | sign);
}

float exact_softplus(float x) {
  using namespace exact_constants;
  const float e = exact_exp(x < 0.f ? x : -x);  // exp(-|x|): never overflows
  const float s = e / (2.f + e), z = s * s;
  float q = fma(kAtanh17, z, kAtanh15);
  q = fma(q, z, kAtanh13);
  q = fma(q, z, kAtanh11);
  q = fma(q, z, kAtanh9);
  q = fma(q, z, kAtanh7);
  q = fma(q, z, kAtanh5);
  q = fma(q, z, kAtanh3);
  const float half = fma(s * z, q, s);
  return (x < 0.f ? 0.f : x) + (half + half);
}

}  // namespace sluice
