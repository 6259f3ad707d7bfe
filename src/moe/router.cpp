// See router.h.
#include "moe/router.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace sluice {

namespace {

// Orders ids by choice, the larger first; ties: the lower id.
struct Better {
  std::span<const float> choice;
  bool operator()(int a, int b) const {
    const float left = choice[static_cast<std::size_t>(a)], right = choice[static_cast<std::size_t>(b)];
    return left != right ? left > right : a < b;
  }
};

// The ids of the top_k largest choices, ascending by id. `ids` is scratch that keeps its room between rows.
void pick(std::span<const float> choice, int top_k, std::vector<int>& ids) {
  ids.resize(choice.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::nth_element(ids.begin(), ids.begin() + (top_k - 1), ids.end(), Better{choice});
  ids.resize(static_cast<std::size_t>(top_k));
  std::sort(ids.begin(), ids.end());
}

// What the experts of one group are worth together: the sum of the two largest of `choice`.
float group_worth(std::span<const float> choice) {
  float best = -std::numeric_limits<float>::infinity(), second = best;
  for (float value : choice) {
    if (value > best) {
      second = std::exchange(best, value);
    } else if (value > second) {
      second = value;
    }
  }
  return best + second;
}

// Puts the experts of all groups but the best out of reach.
void keep_groups(std::span<float> choice, const RouterRule& rule) {
  const std::size_t width = choice.size() / static_cast<std::size_t>(rule.groups);
  std::vector<float> worth;
  for (std::size_t first = 0; first < choice.size(); first += width)
    worth.push_back(group_worth(choice.subspan(first, width)));
  std::vector<int> kept;
  pick(worth, rule.groups_kept, kept);
  for (std::size_t group = 0; group < worth.size(); ++group)
    if (!std::ranges::binary_search(kept, static_cast<int>(group)))
      std::ranges::fill(choice.subspan(group * width, width), -std::numeric_limits<float>::infinity());
}

// What one row chooses by: its scores s and the bias, in the groups that it may choose from.
void fill_choice(std::span<const float> s, std::span<const float> bias, const RouterRule& rule,
                 std::vector<float>& choice) {
  choice.assign(s.begin(), s.end());
  if (!bias.empty())
    std::transform(s.begin(), s.end(), bias.begin(), choice.begin(), [](float score, float b) { return score + b; });
  if (rule.groups > 1) keep_groups(choice, rule);
}

// Appends the routes of one row to the chosen experts, ascending. s: the row's scores.
void add_routes(std::span<const float> s, std::span<const int> experts, const RouterRule& rule, Routes& routes) {
  float sum = 0;
  for (int expert : experts) sum += s[static_cast<std::size_t>(expert)];
  const float divisor = rule.renormalize ? sum + rule.sum_epsilon : 1.0f;
  for (int expert : experts)
    routes.all.push_back({expert, (s[static_cast<std::size_t>(expert)] / divisor) * rule.factor});
}

Routes empty_routes(int rows, int top_k) {
  Routes routes{rows, top_k, {}};
  routes.all.reserve(static_cast<std::size_t>(rows) * static_cast<std::size_t>(top_k));
  return routes;
}

}  // namespace

Routes choose_experts(Rows scores, std::span<const float> bias, const RouterRule& rule) {
  Routes routes = empty_routes(scores.rows, rule.top_k);
  std::vector<float> choice;
  std::vector<int> ids;
  for (int row = 0; row < scores.rows; ++row) {
    const std::span<const float> s = scores[row];
    fill_choice(s, bias, rule, choice);
    pick(choice, rule.top_k, ids);
    add_routes(s, ids, rule, routes);
  }
  return routes;
}

ExpertRanking rank_experts(const RouterScores& from, int count) {
  const RouterRule& rule = from.rule;
  ExpertRanking ranking{from.scores.rows, std::min(count, from.scores.width / rule.groups * rule.groups_kept), {}};
  std::vector<float> choice;
  std::vector<int> ids;
  for (int row = 0; row < from.scores.rows; ++row) {
    fill_choice(from.scores[row], from.bias, rule, choice);
    pick(choice, ranking.count, ids);
    std::ranges::sort(ids, Better{choice});
    ranking.experts.insert(ranking.experts.end(), ids.begin(), ids.end());
  }
  return ranking;
}

Routes weigh_experts(Rows scores, std::span<const int> experts, const RouterRule& rule) {
  const auto top_k = static_cast<std::size_t>(rule.top_k);
  SLUICE_CHECK(experts.size() == static_cast<std::size_t>(scores.rows) * top_k);
  Routes routes = empty_routes(scores.rows, rule.top_k);
  std::vector<int> ids;
  for (int row = 0; row < scores.rows; ++row) {
    const auto given = experts.subspan(static_cast<std::size_t>(row) * top_k, top_k);
    ids.assign(given.begin(), given.end());
    std::ranges::sort(ids);
    add_routes(scores[row], ids, rule, routes);
  }
  return routes;
}

}  // namespace sluice
