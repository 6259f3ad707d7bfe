// Which keys each row of a pass may see, and the lightning indexer's way to choose them: the best of all visible ones
// by scores that small heads give (specs of GLM-5.2, 3.5, and of DeepSeek-V4, 3.7).
//
// A key stands for `every` positions and is visible once the last of them is; the keys of a log of states are so. While
// everything visible fits, the choice stays empty: then attention is dense, and bit for bit the same as with a choice
// of everything. Scores: docs/numerics.md, "indexer score".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compute/ops.h"
#include "models/common/wide_rows.h"
#include "models/model.h"

namespace sluice {

// The keys that each row of a pass may see; see LatentAttention. Empty: everything up to the row itself.
struct KeyChoice {
  std::vector<int> positions, begin;

  void clear() {
    positions.clear();
    begin.clear();
  }
  bool everything() const { return begin.empty(); }
  std::span<const int> of(int row) const {
    const auto first = static_cast<std::size_t>(begin[static_cast<std::size_t>(row)]);
    return std::span(positions).subspan(first,
                                        static_cast<std::size_t>(begin[static_cast<std::size_t>(row) + 1]) - first);
  }
  // Of `rows` rows one after another.
  std::span<const int> of(int first_row, int rows) const {
    const auto first = static_cast<std::size_t>(begin[static_cast<std::size_t>(first_row)]);
    return std::span(positions).subspan(
        first, static_cast<std::size_t>(begin[static_cast<std::size_t>(first_row + rows)]) - first);
  }
};

class KeyChooser {
 public:
  struct Shape {
    int heads = 0, dim = 0, top_k = 0;
    int every = 1;      // positions a key
    bool bf16 = false;  // see IndexScores
  };
  // `wide` outlives it.
  KeyChooser(const Shape& shape, WideRows& wide) : shape_(shape), wide_(wide) {}

  // Bytes of the lists that a pass over at most `rows` rows at positions below `positions` fills: choices, and
  // scores.
  static std::uint64_t list_bytes(const Shape& shape, int rows, int positions);

  // query [rows, heads * dim], weights [rows, heads]; log: of the keys, those of these rows in it. `told` may be empty.
  void choose(Ops& ops, Rows query, Rows weights, std::span<const Segment> segments, int log, KeyChoice& choice,
              const std::function<void(int row, std::span<const float> scores, std::span<const int> keys)>& told);

 private:
  struct Block;
  void choose_of(Ops& ops, const Block& block, Rows query, Rows weights, KeyChoice& choice);

  Shape shape_;
  WideRows& wide_;
  std::vector<float> scores_;
};

}  // namespace sluice
