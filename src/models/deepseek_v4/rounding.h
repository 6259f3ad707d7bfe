// Where activations are rounded, by what they are to the release (spec 3.10; order: docs/numerics.md, "Parity"). Only
// the parity mode rounds: in the exact mode none of these does anything.
#pragma once

#include <algorithm>

#include "compute/activation_rounding.h"

namespace sluice::deepseek_v4 {

class Rounding {
 public:
  explicit Rounding(bool parity) : parity_(parity) {}
  bool parity() const { return parity_; }

  // A result that the release keeps in bf16. All below are called on such.
  void tensor(Rows x) const {
    if (parity_) round_to_bf16(x);
  }
  // What a matrix stored in FP8 or FP4 is about to meet, and nothing else.
  void input(Rows x) const {
    if (parity_) round_to_fp8(x, kFp8InputBlock);
  }
  // The same where x is needed as it is too: the copy in `room`, or x itself if nothing is rounded.
  Rows input_copy(Rows x, Rows room) const {
    if (!parity_) return x;
    for (int row = 0; row < x.rows; ++row) std::ranges::copy(x[row], room[row].begin());
    input(room);
    return room;
  }
  // A key, or entry that stands for keys; its last numbers are rotated and stay.
  void key(Rows x, int rotated) const {
    if (parity_) round_to_fp8(x.columns(0, x.width - rotated), kKeyBlock);
  }
  // Queries or keys of the indexer, `width` numbers each.
  void index(Rows x, int width) const {
    if (!parity_) return;
    hadamard(x, width);
    round_to_bf16(x);
    for (int first = 0; first < x.width; first += width) round_to_fp4(x.columns(first, width), kIndexBlock);
  }

 private:
  static constexpr int kKeyBlock = 64, kIndexBlock = 32;

  bool parity_;
};

}  // namespace sluice::deepseek_v4
