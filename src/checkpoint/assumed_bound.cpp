// See assumed_bound.h.
#include "checkpoint/assumed_bound.h"

#include <string>
#include <unordered_set>
#include <vector>

#include "checkpoint/block_layout.h"
#include "formats/format.h"

namespace sluice {

namespace {

class Assumer {
 public:
  Assumer(const Census& census, FunctionRef<FormatId(const TensorSpec&)> format_of)
      : census_(census), format_of_(format_of) {}

  BoundCensus bind() {
    bound_.specs = census_.walk;
    for (const BlockSpec& block : census_.walk) bound_.walk.push_back(place(block, std::string(block.role)));
    bind_embedding();
    bind_id_tables();
    bind_experts();
    return std::move(bound_);
  }

 private:
  BlockLayout place(const BlockSpec& block, const std::string& role) {
    std::vector<FoundTensor> found;
    end_ = page_ceil(end_);
    for (const TensorSpec& spec : block.tensors) {
      const FormatId id = format_of_(spec);
      const Format& stored = format(id);
      FoundTensor& tensor = found.emplace_back(FoundTensor{id, spec.held(), {}, {}, 0});
      if (const ScaleRun run = stored.scale_run(spec.shape.cols, spec.first_row, spec.held().rows); run.bytes > 0) {
        tensor.scales = take(run.bytes);
        tensor.scale_phase = run.phase;
      }
      tensor.weights = take(stored.weight_bytes(spec.held()));
      count(spec, role, stored);
    }
    return lay_out(found);
  }

  FileRun take(std::uint64_t bytes) {
    const FileRun run{0, end_, bytes};
    end_ += bytes;
    return run;
  }

  // Once for each tensor, however many slices of it are asked for.
  void count(const TensorSpec& spec, const std::string& role, const Format& stored) {
    if (spec.row_count > 0 && !sliced_.insert(spec.name).second) return;
    RoleBytes& total = bound_.totals[role][std::string(stored.name)];
    total.tensors += stored.scales == ScaleKind::none ? 1 : 2;
    total.bytes += stored.weight_bytes(spec.shape) + stored.scale_bytes(spec.shape);
  }

  void bind_embedding() {
    const TensorSpec& spec = census_.embedding;
    const FormatId id = format_of_(spec);
    const Format& stored = format(id);
    const FileRun scales = take(stored.scale_bytes(spec.shape)), weights = take(stored.weight_bytes(spec.shape));
    bound_.embedding = {spec.name, id, spec.shape, 0, weights.offset, scales.offset};
    count(spec, "embedding", stored);
  }

  void bind_id_tables() {
    constexpr int kIdBytes = 8;
    for (const IdTableSpec& table : census_.id_tables) {
      const Shape shape = table.tensor.shape;
      const std::uint64_t bytes =
          static_cast<std::uint64_t>(shape.rows) * static_cast<std::uint64_t>(shape.cols) * kIdBytes;
      bound_.id_tables.push_back({table.tensor.name, shape, table.below, 0, take(bytes).offset, kIdBytes});
      RoleBytes& total = bound_.totals["trunk"]["i64"];
      ++total.tensors;
      total.bytes += bytes;
    }
  }

  void bind_experts() {
    bound_.experts = ExpertTable(census_.layers, census_.experts);
    for (int layer = 0; layer < census_.layers; ++layer) {
      if (!census_.has_experts[static_cast<std::size_t>(layer)]) continue;
      for (int expert = 0; expert < census_.experts; ++expert)
        bound_.experts.set(layer, expert, place(census_.expert(layer, expert), "experts"));
    }
  }

  const Census& census_;
  FunctionRef<FormatId(const TensorSpec&)> format_of_;
  BoundCensus bound_;
  std::uint64_t end_ = 0;
  std::unordered_set<std::string> sliced_;
};

}  // namespace

BoundCensus assume_bound(const Census& census, FunctionRef<FormatId(const TensorSpec& tensor)> format_of) {
  return Assumer(census, format_of).bind();
}

}  // namespace sluice
