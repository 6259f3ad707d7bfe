// Fixed-width rows, one per token, in pages of 64: what an attention layer remembers.
//
// Pages are taken from the system as tokens arrive and never move, so a page is also a block of the attention softmax.
// Rows are pending until the sequence commits them; forgetting rows is a matter of length.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/rows.h"

namespace sluice {

class RowLog {
 public:
  static constexpr int kPageRows = 64;

  explicit RowLog(int width) : width_(width) {}

  // Room for rows up to `length` in all.
  void reserve(int length);
  // Rows first .. first + count of the log, writable, one at a time. Requires: reserved.
  std::span<float> row(int position);
  // Page p holds positions 64 p .. 64 p + 63, rows densely packed.
  std::span<const float* const> pages() const { return page_pointers_; }
  int width() const { return width_; }

  static std::uint64_t bytes(int width, int length);

 private:
  int width_;
  std::vector<std::unique_ptr<float[]>> pages_;
  std::vector<const float*> page_pointers_;
};

}  // namespace sluice
