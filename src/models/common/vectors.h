// Small stored tensors as fp32 numbers: norm gains, biases, taps. They are read where they are used, so that they
// stream with their block like every other weight.
#pragma once

#include <span>

#include "base/rows.h"
#include "formats/weight_view.h"

namespace sluice {

// The values of a stored matrix, row after row, in `room` (one row, at least as wide as the matrix has numbers).
std::span<float> decode_into(Rows room, const WeightView& stored);

// The same, where they lie if that is as fp32 numbers; valid as long as both.
std::span<const float> decode_vector(const WeightView& stored, Rows room);

}  // namespace sluice
