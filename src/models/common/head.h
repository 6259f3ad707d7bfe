// The last step of every family: logits of the rows that asked, through lm_head in slices.
#pragma once

#include <span>

#include "models/model.h"

namespace sluice {

// batch.logits = lm_head · x for batch.logit_rows. x [rows, hidden] is normed, and its wanted rows are moved to its
// front. Step first_slice + i of the trunk holds the next slice_rows[i] rows of lm_head.
Result<> project_logits(Ops& ops, TrunkStore& trunk, int first_slice, std::span<const int> slice_rows, Rows x,
                        const ForwardBatch& batch);

}  // namespace sluice
