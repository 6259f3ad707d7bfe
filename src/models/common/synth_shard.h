// Collects the tensors of a shard of a random checkpoint; names are completed with a prefix.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "checkpoint/synth.h"

namespace sluice {

class SynthShard {
 public:
  // fp8: linear() makes FP8 blocks, as GLM-5.2 releases them.
  SynthShard(std::vector<SynthTensor>& out, std::string prefix, bool fp8 = false)
      : out_(out), prefix_(std::move(prefix)), fp8_(fp8) {}

  // y = W x with y of root mean square `gain` where x has 1: W has gain / sqrt(cols).
  void matrix(const std::string& name, int rows, int cols, double gain);
  // A matrix that a quantised release quantises.
  void linear(const std::string& name, int rows, int cols, double gain);
  void norm(const std::string& name, int width, Dtype type = Dtype::bf16);
  // MXFP4, as two tensors.
  void packed(const std::string& name, int rows, int cols, double gain);
  // gate_proj and up_proj [inner, width], down_proj [width, inner].
  struct Gains {
    double gate, up, down;
  };
  void gated(const std::string& name, int width, int inner, const Gains& gains);
  void add(const std::string& name, Dtype type, std::initializer_list<int> shape, ValueRule values);

 private:
  std::vector<SynthTensor>& out_;
  std::string prefix_;
  bool fp8_;
};

}  // namespace sluice
