// See ram_tier.h.
#include "moe/ram_tier.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace sluice {

RamTier::RamTier(Ops& ops, ExpertStore& store, const ExpertSpec& spec, Workspace& work, int max_rows)
    : ops_(ops), store_(store), spec_(spec), buffers_(lay_out(spec, work, max_rows)) {}

RamTier::Buffers RamTier::lay_out(const ExpertSpec& spec, Workspace& work, int max_rows) {
  return {work.rows(max_rows, spec.in), work.rows(max_rows, spec.inner), work.rows(max_rows, spec.inner),
          work.rows(max_rows, spec.out)};
}

void RamTier::measure(const ExpertSpec& spec, Workspace& work, int max_rows) { lay_out(spec, work, max_rows); }

void RamTier::claim(int layer, std::vector<ExpertGroup>& groups) {
  layer_ = layer;
  groups_ = std::exchange(groups, {});
}

void RamTier::start(Rows x, int top_k, Rows outputs) {
  x_ = x;
  top_k_ = top_k;
  outputs_ = outputs;
  std::vector<ExpertUse> uses;
  for (const ExpertGroup& group : groups_) uses.push_back({group.expert, static_cast<int>(group.routes.size())});
  fetch_ = store_.fetch(layer_, uses);
}

Result<> RamTier::finish() {
  const std::unique_ptr<Fetch> fetch = std::move(fetch_);
  while (true) {
    TRY_TAKE(std::optional<ReadyExpert> ready, fetch->next());
    if (!ready) return {};
    const auto group = std::lower_bound(groups_.begin(), groups_.end(), ready->expert,
                                        [](const ExpertGroup& g, int expert) { return g.expert < expert; });
    SLUICE_CHECK(group != groups_.end() && group->expert == ready->expert);
    run_expert(ready->weights, *group);
  }
}

void RamTier::run_expert(const Lease& weights, const ExpertGroup& group) {
  const int rows = static_cast<int>(group.routes.size());
  const Rows x = buffers_.x.slice(0, rows), gate = buffers_.gate.slice(0, rows), up = buffers_.up.slice(0, rows),
             y = buffers_.y.slice(0, rows);
  for (int row = 0; row < rows; ++row)
    std::ranges::copy(x_[group.routes[static_cast<std::size_t>(row)] / top_k_], x[row].begin());
  const Product into[] = {{weights[spec_.gate], x, gate}, {weights[spec_.up], x, up}};
  ops_.matmul(into);
  spec_.activate(ops_, gate, up, gate);
  const Product out[] = {{weights[spec_.down], gate, y}};
  ops_.matmul(out);
  for (int row = 0; row < rows; ++row)
    std::ranges::copy(y[row], outputs_[group.routes[static_cast<std::size_t>(row)]].begin());
}

}  // namespace sluice
