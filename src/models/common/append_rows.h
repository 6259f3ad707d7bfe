// Keys, values or latents of a batch's rows go into the logs of their states before anyone attends: a row sees itself.
#pragma once

#include <span>

#include "models/model.h"

namespace sluice {

// Row i of `rows` belongs to row i of the batch; it is written behind what its state has committed to log `log`.
void append_rows(std::span<const Segment> segments, int log, Rows rows);

}  // namespace sluice
