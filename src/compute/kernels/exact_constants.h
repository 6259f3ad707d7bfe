// The constants of exp, tanh and softplus, shared by the scalar definition (exact_functions.cpp) and by the 16-lane
// kernels.
//
// Plain numbers and nothing else: kernel units may include only headers that leave no symbol behind. Polynomials are
// near-minimax (interpolation at Chebyshev nodes, coefficients rounded to fp32): exp to 0.02, tanh to 0.07 units of
// 2^-24 relative. Order of operations and measured errors: docs/numerics.md, "exp, sigmoid, tanh".
#pragma once

namespace sluice::exact_constants {

// exp: x = n ln2 + r with |r| <= ln2 / 2; beyond the clamps the result is 0 or infinity all the same.
constexpr float kExpLowest = -105.f, kExpHighest = 89.f;
constexpr float kLog2E = 0x1.715476p+0f;
constexpr float kRoundMagic = 0x1.8p23f;          // adding it rounds to an integer
constexpr float kMinusLn2High = -0x1.62e4p-1f;    // 16 bits: n * high is exact
constexpr float kMinusLn2Low = -1.42860677e-06f;  // the rest
constexpr float kExp2 = 0.5f, kExp3 = 0.166666672f,
                kExp4 = 0.041666463f;  // exp(r) = 1 + r + r^2 (kExp2 + r (kExp3 + ..
constexpr float kExp5 = 0.00833331048f, kExp6 = 0.00139338814f, kExp7 = 0.000198912472f;

// tanh: below kTanhSmall x + x^3 (kTanh3 + x^2 (kTanh5 + ...)), above it 1 - 2 / (exp(2 |x|) + 1).
constexpr float kTanhSmall = 0.625f;
constexpr float kTanh3 = -0.333333343f, kTanh5 = 0.133333042f, kTanh7 = -0.0539592579f;
constexpr float kTanh9 = 0.0217689183f, kTanh11 = -0.00834394526f, kTanh13 = 0.00229274505f;

// softplus: atanh(s) = s + s^3 (1/3 + s^2 (1/5 + ...)) for s <= 1/3; what is left out is below 4e-10 of it.
constexpr float kAtanh3 = 1.f / 3, kAtanh5 = 1.f / 5, kAtanh7 = 1.f / 7, kAtanh9 = 1.f / 9;
constexpr float kAtanh11 = 1.f / 11, kAtanh13 = 1.f / 13, kAtanh15 = 1.f / 15, kAtanh17 = 1.f / 17;

}  // namespace sluice::exact_constants
