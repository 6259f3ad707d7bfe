// Fixed-width rows, one per token or one per so many, in pages: what an attention layer remembers.
//
// Pages are taken from the system as tokens arrive and do not move while rows are pending; one of 64 rows is also a
// block of the attention softmax. Rows are pending until the sequence commits them; forgetting rows is a matter of
// length. A log that keeps only the last rows gives whole pages back as they fall behind. A copy of a log shares its
// pages: whoever writes to a shared page gets one of its own first. Rows may be stored narrower than they are: see
// row_format.h.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/rows.h"
#include "state/row_format.h"

namespace sluice {

// What a family wants remembered in one log. A plain width: a row for each token, all of them kept.
struct LogShape {
  int width = 0;  // floats of a row; 0: no log
  int every = 1;  // tokens a row: row i stands for tokens i · every and on, and is there when the last of them is
  int kept = 0;   // rows before the committed length that must stay; 0: all, and the only way if every > 1
  int page_rows = 64;
  RowFormat format = RowFormat::fp32;  // of logs that keep all rows; others are short

  LogShape(int row_width = 0) : width(row_width) {}  // NOLINT: a width is a log
  LogShape(int row_width, int tokens_a_row, int rows_kept, int rows_a_page)
      : width(row_width), every(tokens_a_row), kept(rows_kept), page_rows(rows_a_page) {}
  bool operator==(const LogShape&) const = default;
  int words() const { return row_words(format, width); }  // floats of a row as it is stored

  // Most bytes of a sequence of `length` committed tokens while `pending` more are written.
  std::uint64_t bytes(int length, int pending = 0) const;
};

class RowLog {
 public:
  static constexpr int kPageRows = 64;  // of a log that attention reads

  explicit RowLog(const LogShape& shape);

  // Room for the rows of tokens up to `length` in all; those from token `first` on lie in pages that nobody else has.
  void reserve(int first, int length);
  // Gives back the pages that nobody needs once `length` tokens are committed.
  void settle(int length);
  // Gives back the pages of rows behind `length`.
  void shrink(int length);
  // Whether all rows are there that a sequence of `length` tokens needs.
  bool reaches(int length) const { return first_row() <= first_needed(length); }
  // An empty log gets room for the rows that a sequence of `length` tokens needs, yet to be written.
  void restore(int length);
  int first_needed(int length) const;  // row
  int rows(int length) const { return length / shape_.every; }
  // One row as it is stored, writable: words() floats. Requires: reserved, and not given back.
  std::span<float> row(int number);
  void put(int number, std::span<const float> values) { store_row(shape_.format, values, row(number).data()); }
  // Page p holds rows first_row() + page_rows · p and on, densely packed, as they are stored.
  std::span<const float* const> pages() const { return page_pointers_; }
  int first_row() const { return first_page_ * shape_.page_rows; }
  int width() const { return shape_.width; }
  const LogShape& shape() const { return shape_; }
  std::uint64_t bytes() const { return pages_.size() * page_floats() * sizeof(float); }

 private:
  std::size_t page_floats() const {
    return static_cast<std::size_t>(shape_.page_rows) * static_cast<std::size_t>(shape_.words());
  }

  LogShape shape_;
  int first_page_ = 0;
  std::vector<std::shared_ptr<float[]>> pages_;
  std::vector<const float*> page_pointers_;
};

}  // namespace sluice
