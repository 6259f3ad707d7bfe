// Every tensor of a model where it lies in its files, and what kind of tensor it is: what conversion and comparison
// walk over.
//
// A census cuts a model into blocks for running it: lm_head in slices, experts one by one. Here each tensor appears
// once and whole, in the order of the census, with the kind that decides what it may become.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/block_layout.h"
#include "checkpoint/bound.h"

namespace sluice {

enum class TensorKind : std::uint8_t {
  experts,  // routed, of the trunk's layers
  dense,    // matrices that every token meets
  io,       // embedding and lm_head
  mtp,      // matrices of the head that drafts, its experts among them
  kept,     // routers, norms, biases, short convolutions: little of the bytes, and they steer much
};
inline constexpr int kTensorKinds = 5;
std::string_view kind_name(TensorKind kind);

struct RowSlice {
  int first = 0, rows = 0;
};

struct ModelTensor {
  std::string name;  // as the census calls it
  TensorKind kind = TensorKind::kept;
  FormatId format = FormatId::f32;
  Shape shape;
  FileRun weights, scales;            // scales.bytes is 0 where the format has none
  int scale_phase = 0;                // see WeightView
  std::vector<RowSlice> slices = {};  // how the steps of the walk cut it, from its first row to its last; else empty
};
// Tensors that are used together: neighbours in a file, read at once.
using TensorBlock = std::vector<ModelTensor>;

// A model as its census sees it: `whole` with the head that drafts, if it has one, and `trunk` without.
struct ModelCensus {
  Census whole, trunk;
  std::span<const std::string_view> kept;  // endings of the names of matrices that are TensorKind::kept
};

class ModelTensors {
 public:
  // Requires: `bound` is `census.whole` bound to the checkpoint. Both must outlive this.
  ModelTensors(const ModelCensus& census, const BoundCensus& bound);

  std::size_t fixed_blocks() const { return fixed_.size(); }  // those before the experts
  std::size_t blocks() const { return fixed_.size() + experts_.size(); }
  // The embedding, then the walk, then the experts by layer and number.
  TensorBlock block(std::size_t number) const;

 private:
  struct ExpertPlace {
    int layer, expert;
  };
  TensorKind kind_of(const TensorSpec& spec, std::string_view role, bool in_trunk) const;
  void add_embedding();
  void add_walk();

  const ModelCensus& census_;
  const BoundCensus& bound_;
  std::vector<TensorBlock> fixed_;
  std::vector<ExpertPlace> experts_;
};

}  // namespace sluice
