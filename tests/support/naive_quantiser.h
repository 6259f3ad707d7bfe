// The quantiser of the GLM-5.2 specification, section 6.2, once more and as plainly as it can be said, so that the one
// under test is never asked what is right. Shares no code with src/.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sluice::test {

struct NaiveMatrix {
  int rows = 0, cols = 0;
  std::vector<float> numbers;  // row-major
};

struct NaiveStored {
  std::string weights, scales;  // bytes as they lie in a file
};

// `format`: f32, bf16, int8, int4, int4g32, int4g64 or int4g128. Throws for others.
NaiveStored naive_encode(const std::string& format, const NaiveMatrix& matrix);
// What the stored bytes of a matrix mean: those formats, fp8 (128 x 128 blocks, fp32 scales) and mxfp4.
NaiveMatrix naive_decode(const std::string& format, int rows, int cols, const NaiveStored& stored);

}  // namespace sluice::test
