// Byte-pair encoding by rank: the one algorithm that turns a piece of text into ids.
//
// The number of an entry in the vocabulary is its rank and its id. A piece that is an entry is that id; otherwise it
// starts as single bytes, and the adjacent pair whose joined bytes have the lowest rank is joined, the leftmost one on
// ties, until no joined pair is an entry (spec section 5.2). A heap of pairs over a linked list makes that
// O(n log n): a run of a million equal letters takes a fraction of a second, not hours.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace sluice {

class Bpe {
 public:
  // Keeps a reference. Requires: every single byte is an entry.
  explicit Bpe(const Vocabulary& ranks) : ranks_(ranks) {}

  // Appends the ids of one piece. Requires: piece.size() < 2^31. Not thread-safe: the working lists are kept between
  // calls.
  void encode(std::string_view piece, std::vector<int>& ids);

 private:
  // A part of the piece, at the index of its first byte. A part swallowed by its left neighbour has id -1.
  struct Part {
    int id;          // of the part itself
    int left, next;  // index of the neighbours; -1 before the first, piece.size() behind the last
    int joined;      // id of this part joined with the next, or -1
  };
  // Looks the pair up that begins at `at` and, if it is an entry, notes it in the heap.
  void consider(std::string_view piece, int at);
  void join_next(std::string_view piece, int at);

  const Vocabulary& ranks_;
  std::vector<Part> parts_;            // [piece bytes]
  std::vector<std::uint64_t> lowest_;  // min-heap of rank << 32 | index of the pair's first part; may be outdated
};

}  // namespace sluice
