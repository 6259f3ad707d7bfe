// Which steps of the trunk are pinned first as memory grows: a pure function of their sizes.
//
// Outsized steps come first, since the ring must hold the largest step that is not pinned. The others come in an order
// of which any beginning is spread evenly over the walk: then reading and computing keep pace all along a token. A
// pinned stretch would leave the disk idle, and the stretch after it would wait for the disk.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

struct PinOrder {
  std::vector<int> steps;        // all of them, those pinned first in front
  std::uint64_t usual_step = 0;  // the largest step that is not outsized
};

// Outsized steps hold at most a tenth of all bytes together.
PinOrder pin_order(std::span<const std::uint64_t> step_bytes);

}  // namespace sluice
