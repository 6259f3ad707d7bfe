// See head.h.
#include "models/common/head.h"

#include <algorithm>

namespace sluice {

Result<> project_logits(Ops& ops, TrunkStore& trunk, int first_slice, std::span<const int> slice_rows, Rows x,
                        const ForwardBatch& batch) {
  const int wanted = static_cast<int>(batch.logit_rows.size());
  for (int row = 0; row < wanted; ++row) {  // ascending, so a row moves down or stays
    const int from = batch.logit_rows[static_cast<std::size_t>(row)];
    if (from != row) std::ranges::copy(x[from], x[row].begin());
  }
  int first = 0;
  for (std::size_t slice = 0; slice < slice_rows.size(); ++slice) {
    TRY_TAKE(const Lease w, trunk.acquire(first_slice + static_cast<int>(slice)));
    const Product logits[] = {{w[0], x.slice(0, wanted), batch.logits.columns(first, slice_rows[slice])}};
    ops.matmul(logits);
    first += slice_rows[slice];
  }
  return {};
}

}  // namespace sluice
