// What a family wants from a checkpoint, and where it was found.
//
// A block is the unit of residency: a few tensors that are read and used together. The family says which (BlockSpec);
// the checkpoint answers where (BlockLayout). Tensor i of a layout is tensor i of its spec, so code indexes by enum,
// not by name.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/weight_view.h"
#include "io/extent.h"

namespace sluice {

// A matrix [rows, cols] by its released name, as "….weight": how it is stored (plain, or packed with scales under
// derived names) is found in the checkpoint, never assumed. Dimensions of size 1 in the file do not count: [n,1,4] is
// [n,4], [n] is [1,n].
struct TensorSpec {
  std::string name;
  Shape shape;        // of the whole tensor
  int first_row = 0;  // the slice of rows this block holds; row_count 0 means all
  int row_count = 0;
  int stacked =
      1;  // the file has so many matrices of shape.rows / stacked rows in one: [stacked, rows / stacked, cols]
  // Where else these rows may lie if there is no tensor of this name: experts of a layer fused into one tensor. Each
  // holds as many rows and columns as this spec, and is tried in order.
  std::vector<TensorSpec> alternatives = {};

  Shape held() const { return {row_count ? row_count : shape.rows, shape.cols}; }
};

struct BlockSpec {
  std::string label;  // "layer 3 attention", "layer 3 expert 17": for plans and errors
  std::vector<TensorSpec> tensors;
  std::string_view role = "trunk";  // a literal; what the bytes count as in totals: "trunk", "head", "experts"
};

inline constexpr std::uint64_t kNoScales = ~std::uint64_t{0};

// Where a tensor lies inside the slot its block was read into.
struct Placement {
  FormatId format = FormatId::f32;
  Shape shape;                       // as held
  std::uint64_t weights = 0;         // offset in the slot
  std::uint64_t scales = kNoScales;  // offset in the slot; scales may lie before the weights
  int scale_phase = 0;               // see WeightView

  bool operator==(const Placement&) const = default;
  WeightView view(const std::byte* slot) const {
    return {format, shape, slot + weights, scales == kNoScales ? nullptr : slot + scales, scale_phase};
  }
};

// A tensor that is read as a stream (formats/bf16_stream.h), and where that lies in the slot until it is unpacked.
struct CompressedTensor {
  int tensor = 0;
  std::uint64_t stream = 0, bytes = 0;
};

struct BlockLayout {
  std::vector<Extent> extents;  // what to read, and where into the slot
  std::vector<Placement> tensors;
  std::uint64_t slot_bytes = 0;     // room the slot needs: whole disk pages around every extent
  std::uint64_t payload_bytes = 0;  // bytes of the tensors themselves, as they are stored
  // In the order of their streams and of their tensors in the slot. A tensor ends where its stream ends, or before: so
  // they can be unpacked within the slot, the first one first.
  std::vector<CompressedTensor> compressed = {};

  WeightView view(const std::byte* slot, int tensor) const {
    return tensors[static_cast<std::size_t>(tensor)].view(slot);
  }
};

// A table of whole numbers, no weights: which experts a token is sent to. Kept in memory whole.
struct IdTableSpec {
  TensorSpec tensor;  // [rows, cols], stored as I64 or I32
  int below = 0;      // what every number must be less than; at most 65536
};

// Everything a family needs from a checkpoint.
struct Census {
  std::vector<BlockSpec> walk;  // always-active blocks in the order a token visits them
  TensorSpec embedding;         // read by row, on demand
  std::vector<IdTableSpec> id_tables;
  int layers = 0;
  int experts = 0;                // routed experts of a layer that has any
  std::vector<bool> has_experts;  // by layer
  std::function<BlockSpec(int layer, int expert)> expert;
  std::vector<std::string> ignored;  // name prefixes that belong to parts sluice does not run (vision)
};

}  // namespace sluice
