// See router.h.
#include "moe/router.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace sluice {

namespace {

// Appends the routes of one row to the chosen experts, ascending. s: the row's scores.
void add_routes(std::span<const float> s, std::span<const int> experts, const RouterRule& rule, Routes& routes) {
  float sum = 0;
  for (int expert : experts) sum += s[static_cast<std::size_t>(expert)];
  const float divisor = rule.renormalize ? sum + rule.sum_epsilon : 1.0f;
  for (int expert : experts)
    routes.all.push_back({expert, (s[static_cast<std::size_t>(expert)] / divisor) * rule.factor});
}

std::size_t places(int rows, int count) { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(count); }

// experts [rows, count]: those of the `count` best choices of each row, ascending.
void pick(Ops& ops, const RouterScores& from, int count, std::vector<int>& experts) {
  experts.resize(places(from.scores.rows, count));
  ops.choose({.x = from.scores,
              .bias = from.bias,
              .count = count,
              .groups = from.rule.groups,
              .groups_kept = from.rule.groups_kept,
              .chosen = experts});
}

}  // namespace

const Routes& ExpertChooser::choose(Ops& ops, const RouterScores& from) {
  pick(ops, from, from.rule.top_k, experts_);
  return weigh(from.scores, from.rule);
}

const Routes& ExpertChooser::take(Rows scores, std::span<const int> experts, const RouterRule& rule) {
  SLUICE_CHECK(experts.size() == places(scores.rows, rule.top_k));
  experts_.assign(experts.begin(), experts.end());
  for (int row = 0; row < scores.rows; ++row) std::ranges::sort(of(row, rule.top_k));
  return weigh(scores, rule);
}

std::span<int> ExpertChooser::of(int row, int top_k) {
  return std::span(experts_).subspan(places(row, top_k), static_cast<std::size_t>(top_k));
}

const Routes& ExpertChooser::weigh(Rows scores, const RouterRule& rule) {
  routes_.rows = scores.rows;
  routes_.top_k = rule.top_k;
  routes_.all.clear();
  for (int row = 0; row < scores.rows; ++row) add_routes(scores[row], of(row, rule.top_k), rule, routes_);
  return routes_;
}

ExpertRanking rank_experts(Ops& ops, const RouterScores& from, int count) {
  const RouterRule& rule = from.rule;
  ExpertRanking ranking{from.scores.rows, std::min(count, from.scores.width / rule.groups * rule.groups_kept), {}};
  pick(ops, from, ranking.count, ranking.experts);
  for (int row = 0; row < ranking.rows; ++row) {
    const auto choice = [&](int expert) {
      const auto at = static_cast<std::size_t>(expert);
      const float value = from.bias.empty() ? from.scores[row][at] : from.scores[row][at] + from.bias[at];
      return value == value ? value : -std::numeric_limits<float>::infinity();
    };
    const auto named = std::span(ranking.experts).subspan(places(row, ranking.count), places(1, ranking.count));
    std::ranges::stable_sort(named, std::greater<>(), choice);  // ties: the lower id, which comes first
  }
  return ranking;
}

}  // namespace sluice
