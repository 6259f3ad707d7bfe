// See head.h.
#include "models/common/head.h"

#include <algorithm>

namespace sluice {

Result<> project_logits(Ops& ops, TrunkStore& trunk, const HeadSlices& slices, Rows x, std::span<const int> wanted,
                        Rows logits) {
  for (std::size_t row = 0; row < wanted.size(); ++row)  // ascending, so a row moves down or stays
    if (const int to = static_cast<int>(row); wanted[row] != to) std::ranges::copy(x[wanted[row]], x[to].begin());
  int first = 0;
  for (std::size_t slice = 0; slice < slices.rows.size(); ++slice) {
    TRY_TAKE(const Lease w, trunk.acquire(slices.first + static_cast<int>(slice)));
    const Product part[] = {
        {w[0], x.slice(0, static_cast<int>(wanted.size())), logits.columns(first, slices.rows[slice])}};
    ops.matmul(part);
    first += slices.rows[slice];
  }
  return {};
}

}  // namespace sluice
