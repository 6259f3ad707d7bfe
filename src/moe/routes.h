// Who goes where: the routes that a router chose for each row, and their union over the batch.
#pragma once

#include <span>
#include <vector>

namespace sluice {

struct Route {
  int expert = 0;
  float weight = 0;
};

// `top_k` routes for each row. Within a row they are sorted by ascending expert id: that is the order in which outputs
// are summed (docs/numerics.md), so the order is in the data and not in the code.
struct Routes {
  int rows = 0, top_k = 0;
  std::vector<Route> all;  // [rows * top_k]

  std::span<const Route> of(int row) const {
    return std::span(all).subspan(static_cast<std::size_t>(row) * static_cast<std::size_t>(top_k),
                                  static_cast<std::size_t>(top_k));
  }
};

// One expert and everybody who chose it: route index = row * top_k + place, which is also where its output goes.
struct ExpertGroup {
  int expert = 0;
  std::span<const int> routes;
};

// The union of all rows' experts, ascending by id. Every layer of every pass asks, so the lists keep their room.
class ExpertGroups {
 public:
  // Valid until the next call.
  std::span<const ExpertGroup> of(const Routes& routes);

 private:
  std::vector<int> order_;  // routes, by expert
  std::vector<ExpertGroup> groups_;
};

}  // namespace sluice
