// The last step of every family: logits of the rows that asked, through lm_head in slices.
#pragma once

#include <span>

#include "models/model.h"

namespace sluice {

// lm_head in steps of the trunk: step first + i holds the next rows[i] rows.
struct HeadSlices {
  int first = 0;
  std::span<const int> rows;
};

// logits [wanted.size(), vocab] = lm_head · x for the rows `wanted`, ascending. x [rows, hidden] is normed, and its
// wanted rows are moved to its front.
Result<> project_logits(Ops& ops, TrunkStore& trunk, const HeadSlices& slices, Rows x, std::span<const int> wanted,
                        Rows logits);

}  // namespace sluice
