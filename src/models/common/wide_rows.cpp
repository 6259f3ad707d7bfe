// See wide_rows.h.
#include "models/common/wide_rows.h"

#include <utility>

namespace sluice {

void WideRows::make_room(const RowLog& log, int rows) {
  const int page_rows = log.shape().page_rows;
  const auto pages = static_cast<std::size_t>((rows + page_rows - 1) / page_rows);
  const std::size_t page = static_cast<std::size_t>(page_rows) * static_cast<std::size_t>(log.width());
  if (floats_ < pages * page) {
    buffer_.reset();
    floats_ = 2 * pages * page;
    buffer_.reset(new float[floats_]);  // what is never written takes no memory
  }
  pages_.clear();
  for (std::size_t number = 0; number < pages; ++number) pages_.push_back(buffer_.get() + number * page);
}

void WideRows::widen(RowLog& log, int row) {
  const auto width = static_cast<std::size_t>(log.width());
  float* const to = buffer_.get() + static_cast<std::size_t>(row) * width;
  load_row(log.shape().format, log.row(row).data(), {to, width});
}

std::span<const float* const> WideRows::pages(RowLog& log, int rows) {
  if (log.shape().format == RowFormat::fp32) return log.pages();
  make_room(log, rows);
  for (int row = 0; row < rows; ++row) widen(log, row);
  return pages_;
}

std::span<const float* const> WideRows::pages(RowLog& log, int rows, std::span<const int> chosen) {
  if (log.shape().format == RowFormat::fp32) return log.pages();
  make_room(log, rows);
  known_.assign(static_cast<std::size_t>(rows), 0);
  for (const int row : chosen)
    if (!std::exchange(known_[static_cast<std::size_t>(row)], 1)) widen(log, row);
  return pages_;
}

}  // namespace sluice
