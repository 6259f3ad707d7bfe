// See workspace.h.
#include "compute/workspace.h"

#include <algorithm>

#include "base/check.h"

namespace sluice {

Workspace::Workspace(std::uint64_t bytes) : memory_(bytes, "activations"), counting_(false) {
  SLUICE_CHECK(memory_.size() >= bytes);
}

Rows Workspace::rows(int count, int width) {
  constexpr int kFloatsPerLine = 16;
  const int stride = (width + kFloatsPerLine - 1) / kFloatsPerLine * kFloatsPerLine;
  const std::uint64_t bytes = static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(stride) * sizeof(float);
  float* const data = counting_ ? nullptr : reinterpret_cast<float*>(memory_.data() + used_);
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  SLUICE_CHECK(counting_ || used_ <= memory_.size());
  return {data, count, width, stride};
}

}  // namespace sluice
