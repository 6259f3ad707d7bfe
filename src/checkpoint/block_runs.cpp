// See block_runs.h.
#include "checkpoint/block_runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/format.h"

namespace sluice {

namespace {

bool visit_layout(const BlockLayout& layout, RunVisitor visit, FunctionRef<std::string()> label) {
  for (const Extent& extent : layout.extents)
    if (extent.bytes > 0 && !visit({extent.file, extent.offset, extent.bytes}, label)) return false;
  return true;
}

bool visit_walk(const BoundCensus& bound, RunVisitor visit) {
  for (std::size_t step = 0; step < bound.walk.size(); ++step)
    if (!visit_layout(bound.walk[step], visit, [&] { return bound.specs[step].label; })) return false;
  return true;
}

bool visit_experts(const ExpertTable& experts, RunVisitor visit) {
  for (int layer = 0; layer < experts.layers(); ++layer)
    for (int expert = 0; expert < experts.experts(); ++expert)
      if (experts.has(layer, expert) &&
          !visit_layout(experts.layout(layer, expert), visit, [&] { return experts.label(layer, expert); }))
        return false;
  return true;
}

bool visit_rows(const BoundTensor& table, RunVisitor visit) {
  const Format& stored = format(table.format);
  const std::uint64_t bytes = stored.row_weight_bytes(table.shape.cols);
  for (int row = 0; row < table.shape.rows; ++row) {
    const auto label = [&] { return fmt::format("row {} of {}", row, table.name); };
    if (!visit({table.file, table.weights_offset + static_cast<std::uint64_t>(row) * bytes, bytes}, label))
      return false;
    const ScaleRun scales = stored.scale_run(table.shape.cols, row, 1);
    if (scales.bytes > 0 && !visit({table.file, table.scales_offset + scales.offset, scales.bytes}, label))
      return false;
  }
  return true;
}

bool visit_ids(const BoundIds& table, RunVisitor visit) {
  const std::uint64_t all = static_cast<std::uint64_t>(table.shape.rows) *
                            static_cast<std::uint64_t>(table.shape.cols) * static_cast<std::uint64_t>(table.id_bytes);
  for (std::uint64_t first = 0; first < all; first += kIdWindowBytes)
    if (!visit({table.file, table.offset + first, std::min(kIdWindowBytes, all - first)}, [&] { return table.name; }))
      return false;
  return true;
}

}  // namespace

void visit_runs(const BoundCensus& bound, RunVisitor visit) {
  if (!visit_walk(bound, visit) || !visit_experts(bound.experts, visit)) return;
  if (bound.embedding.shape.rows > 0 && !visit_rows(bound.embedding, visit)) return;
  for (const BoundIds& table : bound.id_tables)
    if (!visit_ids(table, visit)) return;
}

std::vector<FileRun> runs_of(const BoundCensus& bound) {
  std::vector<FileRun> runs;
  visit_runs(bound, [&](const FileRun& run, FunctionRef<std::string()>) {
    runs.push_back(run);
    return true;
  });
  std::ranges::sort(runs, [](const FileRun& left, const FileRun& right) { return left < right; });
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  return runs;
}

}  // namespace sluice
