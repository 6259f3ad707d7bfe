// Chooses experts from router scores: scalar, a few hundred numbers a row, the same on every machine.
#pragma once

#include <span>
#include <vector>

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

// All that a layer's choice is made from.
struct RouterScores {
  Rows scores;
  std::span<const float> bias;
  RouterRule rule;
};
inline Routes choose_experts(const RouterScores& from) { return choose_experts(from.scores, from.bias, from.rule); }

// The experts of each row in the order in which they would be chosen, the best first.
struct ExpertRanking {
  int rows = 0, count = 0;
  std::vector<int> experts;  // [rows, count]

  std::span<const int> of(int row) const {
    return std::span(experts).subspan(static_cast<std::size_t>(row) * static_cast<std::size_t>(count),
                                      static_cast<std::size_t>(count));
  }
};
// The first `count`, or as many as may be chosen at all. The first rule.top_k of them are those that choose_experts
// takes.
ExpertRanking rank_experts(const RouterScores& from, int count);

// The same weights for experts that were given and not chosen: rule.top_k for each row, in any order. Experts of a row
// may be equal; each counts.
Routes weigh_experts(Rows scores, std::span<const int> experts, const RouterRule& rule);

}  // namespace sluice
