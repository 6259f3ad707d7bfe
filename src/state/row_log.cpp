// See row_log.h.
#include "state/row_log.h"

namespace sluice {

void RowLog::reserve(int length) {
  while (static_cast<int>(pages_.size()) * kPageRows < length) {
    pages_.push_back(std::make_unique<float[]>(static_cast<std::size_t>(kPageRows) * static_cast<std::size_t>(width_)));
    page_pointers_.push_back(pages_.back().get());
  }
}

std::span<float> RowLog::row(int position) {
  float* const page = pages_[static_cast<std::size_t>(position / kPageRows)].get();
  const auto width = static_cast<std::size_t>(width_);
  return {page + static_cast<std::size_t>(position % kPageRows) * width, width};
}

std::uint64_t RowLog::bytes(int width, int length) {
  const auto pages = static_cast<std::uint64_t>((length + kPageRows - 1) / kPageRows);
  return pages * kPageRows * static_cast<std::uint64_t>(width) * sizeof(float);
}

}  // namespace sluice
