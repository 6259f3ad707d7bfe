// Chooses experts from router scores: scalar, a few hundred numbers a row, the same on every machine.
#pragma once

#include <span>

#include "base/rows.h"
#include "moe/routes.h"

namespace sluice {

struct RouterRule {
  int top_k = 0;
  bool renormalize = true;
  float factor = 1;       // multiplies the weights at the end
  float sum_epsilon = 0;  // added to the sum of scores before the division
};

// scores [rows, experts] are the activated logits. The top_k largest score + bias are chosen (ties: lower id); the bias
// decides the choice alone and never enters a weight: w = (s / (Σ s + epsilon)) · factor, sum in ascending expert id.
Routes choose_experts(Rows scores, std::span<const float> bias, const RouterRule& rule);

}  // namespace sluice
