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
  // Experts are cut into `groups` of neighbours, and only those of the `groups_kept` best groups may be chosen. A group
  // is worth the sum of its two largest choices. Requires, if groups > 1: two experts a group, and enough in those
  // kept.
  int groups = 1, groups_kept = 1;
};

// scores [rows, experts] are the activated logits (sigmoid, or softmax over all experts). The top_k largest
// score + bias are chosen (ties: lower id). The bias may be empty: then scores choose. It never enters a weight:
// w = (s / (Σ s + epsilon)) · factor, or s · factor without renormalisation; the sum in ascending expert id.
Routes choose_experts(Rows scores, std::span<const float> bias, const RouterRule& rule);

// The same weights for experts that were given and not chosen: rule.top_k for each row, in any order. Experts of a row
// may be equal; each counts.
Routes weigh_experts(Rows scores, std::span<const int> experts, const RouterRule& rule);

}  // namespace sluice
