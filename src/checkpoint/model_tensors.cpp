// See model_tensors.h.
#include "checkpoint/model_tensors.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "formats/format.h"

namespace sluice {

namespace {

// Where a byte of a slot comes from.
FileRun source_of(const BlockLayout& layout, std::uint64_t slot_offset, std::uint64_t bytes) {
  for (const Extent& extent : layout.extents)
    if (slot_offset >= extent.slot_offset && slot_offset - extent.slot_offset < extent.bytes)
      return {extent.file, extent.offset + (slot_offset - extent.slot_offset), bytes};
  SLUICE_CHECK(bytes == 0);
  return {};
}

ModelTensor located(const TensorSpec& spec, TensorKind kind, const BlockLayout& layout, const Placement& placed) {
  const Format& stored = format(placed.format);
  const Shape shape = spec.shape;  // a tensor that is bound in slices lies in one piece, from its first slice on
  ModelTensor tensor{spec.name, kind, placed.format, shape, {}, {}, placed.scale_phase};
  tensor.weights = source_of(layout, placed.weights, stored.weight_bytes(shape));
  if (placed.scales != kNoScales)
    tensor.scales =
        source_of(layout, placed.scales, stored.scale_run(shape.cols, placed.scale_phase, shape.rows).bytes);
  return tensor;
}

// Whether slices follow each other from the first row to the last.
bool cut_whole(std::span<const RowSlice> slices, int rows) {
  int next = 0;
  for (const RowSlice& slice : slices) {
    if (slice.first != next) return false;
    next += slice.rows;
  }
  return next == rows;
}

}  // namespace

std::string_view kind_name(TensorKind kind) {
  constexpr std::string_view kNames[kTensorKinds] = {"experts", "dense", "io", "mtp", "kept"};
  return kNames[static_cast<std::size_t>(kind)];
}

ModelTensors::ModelTensors(const ModelCensus& census, const BoundCensus& bound) : census_(census), bound_(bound) {
  SLUICE_CHECK(bound.walk.size() == census.whole.walk.size());
  add_embedding();
  add_walk();
  for (int layer = 0; layer < bound.experts.layers(); ++layer)
    for (int expert = 0; expert < bound.experts.experts(); ++expert)
      if (bound.experts.has(layer, expert)) experts_.push_back({layer, expert});
}

TensorKind ModelTensors::kind_of(const TensorSpec& spec, std::string_view role, bool in_trunk) const {
  if (spec.shape.rows == 1 || spec.shape.cols == 1) return TensorKind::kept;
  for (const std::string_view ending : census_.kept)
    if (spec.name.ends_with(ending)) return TensorKind::kept;
  if (!in_trunk) return TensorKind::mtp;
  return role == "experts" ? TensorKind::experts : role == "head" ? TensorKind::io : TensorKind::dense;
}

void ModelTensors::add_embedding() {
  const BoundTensor& table = bound_.embedding;
  const Format& stored = format(table.format);
  ModelTensor tensor{table.name, TensorKind::io, table.format, table.shape, {}, {}, 0};
  tensor.weights = {table.file, table.weights_offset, stored.weight_bytes(table.shape)};
  tensor.scales = {table.file, table.scales_offset, stored.scale_bytes(table.shape)};
  fixed_.push_back({std::move(tensor)});
}

void ModelTensors::add_walk() {
  std::unordered_set<std::string_view> of_trunk;
  for (const BlockSpec& block : census_.trunk.walk)
    for (const TensorSpec& spec : block.tensors) of_trunk.insert(spec.name);
  std::unordered_map<std::string_view, std::vector<RowSlice>> slices;
  for (const BlockSpec& block : census_.whole.walk)
    for (const TensorSpec& spec : block.tensors) slices[spec.name].push_back({spec.first_row, spec.held().rows});
  for (std::size_t step = 0; step < census_.whole.walk.size(); ++step) {
    const BlockSpec& block = census_.whole.walk[step];
    const BlockLayout& layout = bound_.walk[step];
    TensorBlock tensors;
    for (std::size_t number = 0; number < block.tensors.size(); ++number) {
      const TensorSpec& spec = block.tensors[number];
      if (spec.first_row > 0) continue;  // a later slice of a tensor that is taken whole
      const TensorKind kind = kind_of(spec, block.role, of_trunk.contains(spec.name));
      tensors.push_back(located(spec, kind, layout, layout.tensors[number]));
      if (cut_whole(slices[spec.name], spec.shape.rows)) tensors.back().slices = slices[spec.name];
    }
    if (!tensors.empty()) fixed_.push_back(std::move(tensors));
  }
}

TensorBlock ModelTensors::block(std::size_t number) const {
  if (number < fixed_.size()) return fixed_[number];
  const auto [layer, expert] = experts_[number - fixed_.size()];
  const BlockSpec spec = census_.whole.expert(layer, expert);
  const BlockLayout layout = bound_.experts.layout(layer, expert);
  const bool in_trunk = layer < census_.trunk.layers;
  TensorBlock tensors;
  for (std::size_t tensor = 0; tensor < spec.tensors.size(); ++tensor)
    tensors.push_back(located(spec.tensors[tensor], kind_of(spec.tensors[tensor], spec.role, in_trunk), layout,
                              layout.tensors[tensor]));
  return tensors;
}

}  // namespace sluice
