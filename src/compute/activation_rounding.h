// Rounds activations to small formats and back, in place: what releases do whose kernels multiply in FP8 (DeepSeek-V4,
// spec 3.10). Only the parity mode does so (docs/numerics.md, "Parity").
//
// Every number depends on its own row alone, by exact scaling and rounding to nearest with ties to even. The code is
// plain C++, one for every instruction set, and runs on the calling thread. NaN stays NaN and spreads over its block.
#pragma once

#include "base/rows.h"

namespace sluice {

inline constexpr int kFp8InputBlock = 128;  // numbers of a vector that share a scale before a product with FP8 or FP4

void round_to_bf16(Rows x);
// Runs of `block` numbers of each row, the last one maybe shorter: s = the least power of two with max(|x|, 1e-4) / s
// <= 448; e4m3(x / s) · s.
void round_to_fp8(Rows x, int block);
// The same with s from max(|x|, 6 · 2^-126) / s <= 6; e2m1(x / s) · s.
void round_to_fp4(Rows x, int block);
// Every run of `width` numbers, a power of two, becomes H x · width^-1/2, H of Sylvester's order: sums and differences
// of numbers 1, 2, 4, … apart in turn, then the factor.
void hadamard(Rows x, int width);
// The weightless RMS norm of every run of `width` numbers with each step rounded to bf16: squares, their mean (summed
// plainly in rising order), mean + eps, 1 / sqrt, the product.
void rms_norm_in_bf16(Rows x, int width, float eps);

}  // namespace sluice
