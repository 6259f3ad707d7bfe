// How far the weights of a converted checkpoint are from those of the original, by kind of tensor.
//
// Both are decoded to the fp32 values that a forward pass uses; errors are summed in double, tensor by tensor in the
// order of the census, so that a report does not depend on threads.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>

#include "base/cancel.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "checkpoint/model_tensors.h"
#include "io/files.h"

namespace sluice {

struct KindError {
  std::uint64_t tensors = 0, numbers = 0;
  std::set<FormatId> original, converted;
  double largest = 0;                     // |converted - original| of one number
  std::string largest_in = {};            // the tensor that holds it
  double squared_error = 0, squared = 0;  // sums

  double relative() const;  // root mean square error over root mean square
};

struct WeightsOf {
  const ModelTensors* tensors = nullptr;
  const Files* files = nullptr;
};

struct CompareRun {
  int threads = 1;
  const CancelFlag* cancel = nullptr;  // optional
};

// Called on the calling thread with the numbers compared so far.
using CompareProgress = FunctionRef<void(std::uint64_t done_numbers)>;

// By TensorKind of the original. Fails with bad_input where the two are not the same model.
Result<std::array<KindError, kTensorKinds>> compare_weights(const WeightsOf& original, const WeightsOf& converted,
                                                            const CompareRun& run, CompareProgress progress);

}  // namespace sluice
