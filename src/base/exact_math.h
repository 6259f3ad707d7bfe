// exp in double with the same bits on every machine: only +, -, *, fma and exact scaling, in a written order. For the
// sampler.
//
// Error below 1 ulp (measured in exact_math_test.cpp against the C library).
#pragma once

namespace sluice {

// Inputs below -745 give 0, above 709.7 infinity, NaN gives NaN.
double exact_exp(double x);

}  // namespace sluice
