// See expected_experts.h.
#include "moe/expected_experts.h"

#include <algorithm>

namespace sluice {

void expect_experts(Ops& ops, ExpertStore& store, int layer, const RouterScores& scores) {
  const ExpertRanking ranking = rank_experts(ops, scores, scores.rule.top_k);
  std::vector<int> named;
  for (int place = 0; place < ranking.count; ++place)
    for (int row = 0; row < ranking.rows; ++row)
      if (const int expert = ranking.of(row)[static_cast<std::size_t>(place)]; std::ranges::count(named, expert) == 0)
        named.push_back(expert);
  store.expect(layer, named);
}

}  // namespace sluice
