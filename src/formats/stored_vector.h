// Numbers that are fp32 already, as a vector that is stored so.
#pragma once

#include <span>

#include "formats/weight_view.h"

namespace sluice {

// Valid as long as the numbers.
inline WeightView stored_vector(std::span<const float> numbers) {
  return {FormatId::f32, {1, static_cast<int>(numbers.size())}, std::as_bytes(numbers).data(), nullptr, 0};
}

}  // namespace sluice
