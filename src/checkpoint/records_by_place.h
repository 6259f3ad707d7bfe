// Which tensor of the files lies at a place: for what knows bytes and not names, because experts may be rows of a
// larger tensor and tensors go by several names.
//
// Immutable; holds a pointer for each tensor. The index must outlive it.
#pragma once

#include <vector>

#include "checkpoint/block_layout.h"
#include "checkpoint/tensor_index.h"

namespace sluice {

class RecordsByPlace {
 public:
  explicit RecordsByPlace(const TensorIndex& index);

  // The tensor that holds the first byte of the run. Requires: there is one, and the run is not empty.
  const TensorRecord& at(const FileRun& run) const;
  // The tensor whose bytes are exactly these; null if the run is a part of one, or empty.
  const TensorRecord* whole(const FileRun& run) const;

 private:
  std::vector<std::vector<const TensorRecord*>> sorted_;  // by file: its tensors that have bytes, by offset
};

}  // namespace sluice
