// See vectors.h.
#include "models/common/vectors.h"

#include <cstdint>

#include "base/check.h"
#include "formats/format.h"

namespace sluice {

std::span<float> decode_into(Rows room, const WeightView& stored) {
  const auto cols = static_cast<std::size_t>(stored.shape.cols);
  const std::size_t count = static_cast<std::size_t>(stored.shape.rows) * cols;
  SLUICE_CHECK(count <= static_cast<std::size_t>(room.width));
  const std::span<float> values = room[0].first(count);
  const Format& stored_as = format(stored.format);
  for (int row = 0; row < stored.shape.rows; ++row)
    stored_as.decode_row(stored, row, values.subspan(static_cast<std::size_t>(row) * cols, cols));
  return values;
}

std::span<const float> decode_vector(const WeightView& stored, Rows room) {
  const bool fits = reinterpret_cast<std::uintptr_t>(stored.weights) % alignof(float) == 0;
  if (stored.format != FormatId::f32 || !fits) return decode_into(room, stored);
  return {reinterpret_cast<const float*>(stored.weights),
          static_cast<std::size_t>(stored.shape.rows) * static_cast<std::size_t>(stored.shape.cols)};
}

}  // namespace sluice
