// The merges of a byte-pair encoding: which two neighbours become one, and how early. In both directions of use a pair
// of ids is looked up, so the table is an array of slots over the list of merges, 20 bytes a merge.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "text/bpe.h"

namespace sluice {

class MergeTable {
 public:
  // The next merge; the first one has rank 0. False if the pair is there already.
  bool add(int left, int right, int result);
  void shrink();
  // Takes no rank of its own, so that later ones keep theirs: for a merge that must not happen.
  void skip() { ++next_rank_; }

  // Rank -1: not a pair of the table.
  Joined find(int left, int right) const;
  std::uint64_t resident_bytes() const;

 private:
  struct Merge {
    int left, right;
    Joined joined;
  };
  std::size_t slot_of(int left, int right) const;
  void grow();

  std::vector<Merge> merges_;
  std::vector<std::uint32_t> slots_ = {0, 0};  // a power of two of them: 0 empty, else a merge's index and 1
  int next_rank_ = 0;
};

}  // namespace sluice
