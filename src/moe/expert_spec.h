// The shape of one routed expert: y = down · activation(gate · x, up · x).
#pragma once

#include "base/rows.h"
#include "compute/ops.h"

namespace sluice {

enum class Activation { swiglu, clamped_swiglu, situ };

// What happens to the numbers between an expert's matrices.
enum class ExpertRounding {
  none,
  // As DeepSeek-V4's release computes (its spec, 3.10): gate and up to bf16, the route's weight into their product,
  // which is rounded to bf16 and then FP8, and the output to bf16. Inputs come rounded; the sum is of plain outputs.
  release,
};

struct ExpertSpec {
  int in = 0, inner = 0, out = 0;
  int gate = 0, up = 1, down = 2;  // positions of the tensors in an expert's block
  Activation activation = Activation::swiglu;
  float beta = 0, linear_beta = 0;  // caps of SiTU (Kimi K3, 3.5)
  float limit = 0;                  // of clamped SwiGLU (DeepSeek-V4, 3.8)
  ExpertRounding rounding = ExpertRounding::none;

  // y = activation(gate, up); y may be gate.
  void activate(Ops& ops, Rows gate_rows, Rows up_rows, Rows y) const {
    switch (activation) {
      case Activation::swiglu:
        return ops.swiglu(gate_rows, up_rows, y);
      case Activation::clamped_swiglu:
        return ops.clamped_swiglu(gate_rows, up_rows, limit, y);
      case Activation::situ:
        return ops.situ(gate_rows, up_rows, beta, linear_beta, y);
    }
  }
};

}  // namespace sluice
