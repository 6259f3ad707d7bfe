// Binds what a family wants (Census) to what is in the files (TensorIndex).
#pragma once

#include <string>

#include "checkpoint/bound.h"
#include "checkpoint/tensor_index.h"

namespace sluice {

// See Checkpoint::bind. `directory` is named in the error. Reads nothing.
Result<BoundCensus> bind_census(const TensorIndex& index, const std::string& directory, const Census& census,
                                bool partial);

}  // namespace sluice
