// See append_rows.h.
#include "models/common/append_rows.h"

#include <algorithm>

namespace sluice {

void append_rows(std::span<const Segment> segments, int log, Rows rows) {
  for (const Segment& segment : segments)
    for (int row = 0; row < segment.rows; ++row)
      std::ranges::copy(rows[segment.first_row + row],
                        segment.state->log(log).row(segment.state->length() + row).begin());
}

}  // namespace sluice
