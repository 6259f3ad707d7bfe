// exp, log, sine and cosine in double with the same bits on every machine: only +, -, *, / and exact scaling, in a
// written order. For the sampler, for log probabilities and for the angles of rotary positions.
//
// Errors of exp and log are below 1 ulp, of sine and cosine below 2^-52 (measured in exact_math_test.cpp against the C
// library). No fused operations: where the processor has none, the C library would imitate them a hundred times slower.
#pragma once

namespace sluice {

// Inputs below -745 give 0, above 709.7 infinity, NaN gives NaN.
double exact_exp(double x);

// Zero gives minus infinity, negative numbers and NaN give NaN.
double exact_log(double x);

struct SineCosine {
  double sine, cosine;
};
// Angles in radians. Requires: |x| <= 2^29.
SineCosine exact_sine_cosine(double x);

}  // namespace sluice
