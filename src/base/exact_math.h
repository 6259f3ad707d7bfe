// exp and log in double with the same bits on every machine: only +, -, *, / and exact scaling, in a written order. For
// the sampler and for log probabilities.
//
// Errors are below 1 ulp (measured in exact_math_test.cpp against the C library). No fused operations: where the
// processor has none, the C library would imitate them a hundred times slower.
#pragma once

namespace sluice {

// Inputs below -745 give 0, above 709.7 infinity, NaN gives NaN.
double exact_exp(double x);

// Zero gives minus infinity, negative numbers and NaN give NaN.
double exact_log(double x);

}  // namespace sluice
