// See blocks.h.
#include "models/common/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/check.h"

namespace sluice {

void append(BlockSpec& spec, const std::string& prefix, std::initializer_list<Numbered> tensors) {
  for (const Numbered& tensor : tensors) {
    SLUICE_CHECK(tensor.place == static_cast<int>(spec.tensors.size()));
    spec.tensors.push_back({prefix + std::string(tensor.name), tensor.shape});
  }
}

BlockSpec block(std::string label, const std::string& prefix, std::initializer_list<Numbered> tensors) {
  BlockSpec spec{std::move(label), {}};
  append(spec, prefix, tensors);
  return spec;
}

BlockSpec gated_expert_block(std::string label, const std::string& prefix, const GatedExperts& layer, int number) {
  const auto [experts, width, inner] = layer;
  BlockSpec spec = block(std::move(label), fmt::format("{}{}.", prefix, number),
                         {{gated_expert::gate, "gate_proj.weight", {inner, width}},
                          {gated_expert::up, "up_proj.weight", {inner, width}},
                          {gated_expert::down, "down_proj.weight", {width, inner}}});
  spec.role = "experts";
  const std::string fused = prefix + "gate_up_proj";
  const Shape all{experts * 2 * inner, width};
  spec.tensors[gated_expert::gate].alternatives = {{fused, all, number * 2 * inner, inner, experts}};
  spec.tensors[gated_expert::up].alternatives = {{fused, all, (number * 2 + 1) * inner, inner, experts}};
  spec.tensors[gated_expert::down].alternatives = {
      {prefix + "down_proj", {experts * width, inner}, number * width, width, experts}};
  return spec;
}

ExpertSpec swiglu_expert(int width, int inner) {
  return {.in = width,
          .inner = inner,
          .out = width,
          .gate = gated_expert::gate,
          .up = gated_expert::up,
          .down = gated_expert::down,
          .activation = Activation::swiglu};
}

std::vector<int> head_slice_rows(Shape head) {
  constexpr std::uint64_t kSliceBytes = 32u << 20;
  const std::uint64_t fitting = kSliceBytes / (2 * static_cast<std::uint64_t>(head.cols));
  const int rows = static_cast<int>(std::clamp<std::uint64_t>(fitting, 1, static_cast<std::uint64_t>(head.rows)));
  std::vector<int> slices;
  for (int first = 0; first < head.rows; first += rows) slices.push_back(std::min(rows, head.rows - first));
  return slices;
}

void add_head_slices(const TensorSpec& head, std::vector<BlockSpec>& walk) {
  int first = 0;
  for (const int rows : head_slice_rows(head.shape)) {
    TensorSpec slice = head;
    const auto cut = [first, rows](TensorSpec& spec) {
      spec.first_row = first;
      spec.row_count = rows;
    };
    cut(slice);
    std::ranges::for_each(slice.alternatives, cut);
    walk.push_back({fmt::format("head rows {}..{}", first, first + rows - 1), {std::move(slice)}, "head"});
    first += rows;
  }
}

}  // namespace sluice
