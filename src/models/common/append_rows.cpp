// See append_rows.h.
#include "models/common/append_rows.h"

namespace sluice {

void append_rows(std::span<const Segment> segments, int log, Rows rows) {
  for (const Segment& segment : segments)
    for (int row = 0; row < segment.rows; ++row)
      segment.state->log(log).put(segment.state->length() + row, rows[segment.first_row + row]);
}

}  // namespace sluice
