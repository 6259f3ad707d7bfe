// exp, sigmoid, tanh and softplus with the same bits on every machine: the definition of what the kernels compute in 16
// lanes.
//
// Only +, -, *, /, fma and moves of bits, in an order that docs/numerics.md fixes; no libm function whose result could
// differ between machines. Largest errors against fp64 over all of fp32 (exact_functions_test.cpp): exp 0.76 ulp,
// sigmoid 1.46, tanh 1.35, softplus 2.53. Subnormal results count, -0 and infinities have their limits, NaN stays NaN.
#pragma once

namespace sluice {

inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }  // a · b + c, rounded once
float exact_exp(float x);
float exact_sigmoid(float x);
float exact_tanh(float x);
float exact_softplus(float x);  // log(1 + exp(x))

}  // namespace sluice
