// See routes.h.
#include "moe/routes.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace sluice {

std::span<const ExpertGroup> ExpertGroups::of(const Routes& routes) {
  const auto expert_of = [&](int route) { return routes.all[static_cast<std::size_t>(route)].expert; };
  order_.resize(routes.all.size());
  std::iota(order_.begin(), order_.end(), 0);
  if (routes.rows > 1)  // those of a row are sorted
    std::ranges::sort(order_, {}, [&](int route) { return std::pair(expert_of(route), route); });
  groups_.clear();
  for (std::size_t first = 0, next = 0; first < order_.size(); first = next) {
    const int expert = expert_of(order_[first]);
    while (next < order_.size() && expert_of(order_[next]) == expert) ++next;
    groups_.push_back({expert, std::span(order_).subspan(first, next - first)});
  }
  return groups_;
}

}  // namespace sluice
