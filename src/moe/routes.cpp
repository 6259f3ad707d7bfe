// See routes.h.
#include "moe/routes.h"

#include <algorithm>
#include <numeric>

namespace sluice {

std::vector<ExpertGroup> group_by_expert(const Routes& routes) {
  std::vector<int> order(routes.all.size());
  std::iota(order.begin(), order.end(), 0);
  const auto expert_of = [&](int route) { return routes.all[static_cast<std::size_t>(route)].expert; };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return expert_of(a) < expert_of(b); });
  std::vector<ExpertGroup> groups;
  for (int route : order) {
    if (groups.empty() || groups.back().expert != expert_of(route)) groups.push_back({expert_of(route), {}});
    groups.back().routes.push_back(route);
  }
  return groups;
}

}  // namespace sluice
