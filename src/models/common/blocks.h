// How families spell a census: blocks of tensors numbered by an enum, gated experts in both forms in which releases
// keep them, and lm_head in slices.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/block.h"
#include "moe/expert_spec.h"

namespace sluice {

// A tensor by its place in the enum that indexes its block's leases, so that order in the code and in the enum cannot
// part.
struct Numbered {
  int place;
  std::string_view name;  // behind the block's prefix
  Shape shape;
};

BlockSpec block(std::string label, const std::string& prefix, std::initializer_list<Numbered> tensors);
void append(BlockSpec& spec, const std::string& prefix, std::initializer_list<Numbered> tensors);

// The routed experts of a layer: y = down · activation(gate · x, up · x), gate and up [inner, width], down
// [width, inner].
struct GatedExperts {
  int experts = 0, width = 0, inner = 0;
};
namespace gated_expert {
enum : int { gate, up, down };  // the tensors of an expert's block
}
inline constexpr std::int64_t kMostFusedRows = 1 << 30;  // of all experts of a layer together, gate and up
// Expert `number` under `prefix` ("model.layers.3.mlp.experts."): "7.gate_proj.weight" and so on or, fused as
// transformers 5 saves them, rows of "gate_up_proj" [experts, 2 inner, width], gate first, and "down_proj"
// [experts, width, inner].
BlockSpec gated_expert_block(std::string label, const std::string& prefix, const GatedExperts& layer, int number);
// Such an expert with SwiGLU between, as it is multiplied.
ExpertSpec swiglu_expert(int width, int inner);

// A slot of the trunk's ring must hold the largest step, so lm_head comes in steps of at most 32 MiB (in bf16).
// Returns the rows of each, together head.shape.rows.
std::vector<int> head_slice_rows(Shape head);
void add_head_slices(const TensorSpec& head, std::vector<BlockSpec>& walk);

}  // namespace sluice
