// Rows of a log as attention reads them: where a log stores them narrower, they are widened into a buffer.
//
// A model has one such buffer for all of its logs and sequences, as large as the longest log that was read; the plan
// counts it. Only rows that are looked at are widened. Engine thread only.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "state/row_log.h"

namespace sluice {

class WideRows {
 public:
  // Pages as Ops wants them, of which the first `rows` rows of the log may be read, or of those the chosen ones alone.
  // Valid until the next call. Requires: the log keeps all rows, or stores them as they are.
  std::span<const float* const> pages(RowLog& log, int rows);
  std::span<const float* const> pages(RowLog& log, int rows, std::span<const int> chosen);

 private:
  void make_room(const RowLog& log, int rows);
  void widen(RowLog& log, int row);

  std::unique_ptr<float[]> buffer_;
  std::size_t floats_ = 0;  // that it has room for
  std::vector<const float*> pages_;
  std::vector<char> known_;  // rows of the log in hand that are in the buffer
};

}  // namespace sluice
