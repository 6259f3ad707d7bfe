// The list of formats. See format.h.
#include "formats/format.h"

#include <array>

#include "base/check.h"
#include "formats/mxfp4.h"
#include "formats/plain.h"

namespace sluice {

namespace {
const std::array<const Format*, 3> kFormats = {&kF32, &kBf16, &kMxfp4};  // indexed by FormatId
}

std::span<const Format* const> formats() { return kFormats; }

const Format& format(FormatId id) {
  const auto index = static_cast<std::size_t>(id);
  SLUICE_CHECK(index < kFormats.size() && kFormats[index]->id == id);
  return *kFormats[index];
}

WeightView WeightView::row_slice(int first, int count) const {
  SLUICE_DCHECK(first >= 0 && count >= 0 && first + count <= shape.rows);
  const Format& stored = sluice::format(format);
  WeightView slice = *this;
  slice.shape.rows = count;
  slice.weights += static_cast<std::uint64_t>(first) * stored.row_weight_bytes(shape.cols);
  if (scales != nullptr) slice.scales += static_cast<std::uint64_t>(first) * stored.row_scale_bytes(shape.cols);
  return slice;
}

}  // namespace sluice
