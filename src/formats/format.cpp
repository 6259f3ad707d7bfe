// The list of formats. See format.h.
#include "formats/format.h"

#include <array>

#include "base/check.h"
#include "formats/fp8_block.h"
#include "formats/int_group.h"
#include "formats/mxfp4.h"
#include "formats/plain.h"

namespace sluice {

namespace {
// Indexed by FormatId.
const std::array<const Format*, kFormatCount> kFormats = {
    &kF32, &kBf16, &kMxfp4, &kF16, &kFp8, &kFp8E8m0, &kInt8, &kInt4, &kInt4Group32, &kInt4Group64, &kInt4Group128};
}  // namespace

std::span<const Format* const> formats() { return kFormats; }

const Format& format(FormatId id) {
  const auto index = static_cast<std::size_t>(id);
  SLUICE_CHECK(index < kFormats.size() && kFormats[index]->id == id);
  return *kFormats[index];
}

const Format* find_format(std::string_view name) {
  for (const Format* one : kFormats)
    if (one->name == name) return one;
  return nullptr;
}

ScaleRun Format::scale_run(int cols, int first_row, int rows) const {
  const std::uint64_t row_bytes = scale_row_bytes(cols);
  const int first = first_row / scale_rows, end = rows == 0 ? first : (first_row + rows - 1) / scale_rows + 1;
  return {static_cast<std::uint64_t>(first) * row_bytes, static_cast<std::uint64_t>(end - first) * row_bytes,
          first_row % scale_rows};
}

WeightView WeightView::row_slice(int first, int count) const {
  SLUICE_DCHECK(first >= 0 && count >= 0 && first + count <= shape.rows);
  const Format& stored = sluice::format(format);
  WeightView slice = *this;
  slice.shape.rows = count;
  slice.weights += static_cast<std::uint64_t>(first) * stored.row_weight_bytes(shape.cols);
  if (scales == nullptr) return slice;
  const ScaleRun run = stored.scale_run(shape.cols, scale_phase + first, count);
  slice.scales += run.offset;
  slice.scale_phase = run.phase;
  return slice;
}

}  // namespace sluice
