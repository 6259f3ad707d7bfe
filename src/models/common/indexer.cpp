// See indexer.h.
#include "models/common/indexer.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "base/check.h"

namespace sluice {

namespace {

float rank_of(float score) { return score == score ? score : -std::numeric_limits<float>::infinity(); }

}  // namespace

void choose_largest(std::span<const float> scores, int count, std::vector<float>& ranks, std::vector<int>& positions) {
  SLUICE_DCHECK(count >= 1 && static_cast<std::size_t>(count) <= scores.size());
  ranks.resize(scores.size());
  std::ranges::transform(scores, ranks.begin(), rank_of);
  const auto cut = ranks.begin() + (count - 1);
  std::nth_element(ranks.begin(), cut, ranks.end(), std::greater<>());
  const float least = *cut;
  // Everything above the cut, and of what equals it the first ones until there are enough.
  auto equal = std::count(ranks.begin(), cut + 1, least);
  for (std::size_t position = 0; position < scores.size(); ++position) {
    const float rank = rank_of(scores[position]);
    const bool among_equals = rank == least && equal > 0;
    if (among_equals) --equal;
    if (rank > least || among_equals) positions.push_back(static_cast<int>(position));
  }
}

}  // namespace sluice
