// Chooses experts from router scores, and says what each is worth: the same on every machine.
#pragma once

#include <span>
#include <vector>

#include "compute/ops.h"
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

// All that a layer's choice is made from. scores [rows, experts] are the activated logits (sigmoid, or softmax over all
// experts). The top_k largest score + bias are chosen (ties: lower id). The bias may be empty: then scores choose. It
// never enters a weight: w = (s / (Σ s + epsilon)) · factor, or s · factor without renormalisation; the sum in
// ascending expert id.
struct RouterScores {
  Rows scores;
  std::span<const float> bias;
  RouterRule rule;
};

// Choices are made for every layer of every pass, in lists that keep their room. Routes are valid until the next call.
class ExpertChooser {
 public:
  const Routes& choose(Ops& ops, const RouterScores& from);
  // The same weights for experts that are given and not chosen: rule.top_k for each row, in any order. Experts of a row
  // may be equal; each counts.
  const Routes& take(Rows scores, std::span<const int> experts, const RouterRule& rule);
  const Routes& routes() const { return routes_; }  // of the last call

 private:
  std::span<int> of(int row, int top_k);
  const Routes& weigh(Rows scores, const RouterRule& rule);

  std::vector<int> experts_;  // [rows, top_k], ascending in each row
  Routes routes_;
};

// The experts of each row in the order in which they would be chosen, the best first.
struct ExpertRanking {
  int rows = 0, count = 0;
  std::vector<int> experts;  // [rows, count]

  std::span<const int> of(int row) const {
    return std::span(experts).subspan(static_cast<std::size_t>(row) * static_cast<std::size_t>(count),
                                      static_cast<std::size_t>(count));
  }
};
// The first `count`, or as many as may be chosen at all. The first rule.top_k of them are those that are chosen.
ExpertRanking rank_experts(Ops& ops, const RouterScores& from, int count);

}  // namespace sluice
