// See ram_tier.h.
#include "moe/ram_tier.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "compute/activation_rounding.h"

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
  groups_.assign(groups.begin(), groups.end());
  groups.clear();
}

void RamTier::start(Rows x, const Routes& routes, Rows outputs) {
  x_ = x;
  routes_ = &routes;
  outputs_ = outputs;
  uses_.clear();
  for (const ExpertGroup& group : groups_) uses_.push_back({group.expert, static_cast<int>(group.routes.size())});
  fetch_ = store_.fetch(layer_, uses_);
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
  const int rows = static_cast<int>(group.routes.size()), first = group.routes.front();
  const bool alone = rows == 1;  // nothing to gather: the row and its output are used where they lie
  const Rows x = alone ? x_.slice(first / routes_->top_k, 1) : buffers_.x.slice(0, rows);
  const Rows y = alone ? outputs_.slice(first, 1) : buffers_.y.slice(0, rows);
  const Rows gate = buffers_.gate.slice(0, rows), up = buffers_.up.slice(0, rows);
  for (int row = 0; !alone && row < rows; ++row)
    std::ranges::copy(x_[group.routes[static_cast<std::size_t>(row)] / routes_->top_k], x[row].begin());
  const Product into[] = {{weights[spec_.gate], x, gate}, {weights[spec_.up], x, up}};
  ops_.matmul(into);
  activate(group, gate, up);
  const Product out[] = {{weights[spec_.down], gate, y}};
  ops_.matmul(out);
  if (spec_.rounding == ExpertRounding::release) round_to_bf16(y);
  for (int row = 0; !alone && row < rows; ++row)
    std::ranges::copy(y[row], outputs_[group.routes[static_cast<std::size_t>(row)]].begin());
}

// gate = what the last matrix meets.
void RamTier::activate(const ExpertGroup& group, Rows gate, Rows up) {
  if (spec_.rounding == ExpertRounding::none) return spec_.activate(ops_, gate, up, gate);
  round_to_bf16(gate);
  round_to_bf16(up);
  spec_.activate(ops_, gate, up, gate);
  for (int row = 0; row < gate.rows; ++row) {
    const auto route = static_cast<std::size_t>(group.routes[static_cast<std::size_t>(row)]);
    for (float& value : gate[row]) value = routes_->all[route].weight * value;
  }
  round_to_bf16(gate);
  round_to_fp8(gate, kFp8InputBlock);
}

}  // namespace sluice
