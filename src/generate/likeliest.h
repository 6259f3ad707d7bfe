// The most likely tokens of a row of logits. Ties go to the lower id.
#pragma once

#include <span>
#include <vector>

#include "compute/ops.h"

namespace sluice {

// `ids` become the `count` most likely, rising. Requires: 1 <= count <= logits.size().
void find_likeliest(Ops& ops, std::span<const float> logits, int count, std::vector<int>& ids);

// Puts the most likely first.
void sort_by_likelihood(std::span<const float> logits, std::span<int> ids);

}  // namespace sluice
