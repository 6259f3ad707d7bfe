// See row_log.h.
#include "state/row_log.h"

#include <algorithm>

#include "base/check.h"

namespace sluice {

namespace {

int pages_for(int rows, int page_rows) { return (rows + page_rows - 1) / page_rows; }

}  // namespace

std::uint64_t LogShape::bytes(int length, int pending) const {
  int pages = pages_for((length + pending) / every, page_rows);
  // Kept rows and pending ones may begin and end inside a page.
  if (kept > 0) pages = std::min(pages, pages_for(kept + pending, page_rows) + 1);
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_rows) *
         static_cast<std::uint64_t>(words()) * sizeof(float);
}

RowLog::RowLog(const LogShape& shape) : shape_(shape) {
  SLUICE_CHECK(shape.kept == 0 || (shape.every == 1 && shape.format == RowFormat::fp32));
}

void RowLog::reserve(int first, int length) {
  const int first_page = rows(first) / shape_.page_rows;
  for (auto page = static_cast<std::size_t>(std::max(first_page - first_page_, 0)); page < pages_.size(); ++page) {
    if (pages_[page].use_count() == 1) continue;
    std::shared_ptr<float[]> own(new float[page_floats()]());
    std::copy_n(pages_[page].get(), page_floats(), own.get());
    pages_[page] = std::move(own);
    page_pointers_[page] = pages_[page].get();
  }
  const int pages = pages_for(rows(length), shape_.page_rows);
  while (first_page_ + static_cast<int>(pages_.size()) < pages) {
    pages_.emplace_back(new float[page_floats()]());
    page_pointers_.push_back(pages_.back().get());
  }
}

int RowLog::first_needed(int length) const { return shape_.kept == 0 ? 0 : std::max(rows(length) - shape_.kept, 0); }

void RowLog::restore(int length) {
  SLUICE_CHECK(pages_.empty());
  first_page_ = first_needed(length) / shape_.page_rows;
  reserve(length, length);
}

void RowLog::settle(int length) {
  if (shape_.kept == 0) return;
  const int behind = std::min(first_needed(length) / shape_.page_rows - first_page_, static_cast<int>(pages_.size()));
  if (behind > 0) {
    pages_.erase(pages_.begin(), pages_.begin() + behind);
    page_pointers_.erase(page_pointers_.begin(), page_pointers_.begin() + behind);
    first_page_ += behind;
  }
  shrink(length);
}

void RowLog::shrink(int length) {
  const auto held = static_cast<std::size_t>(std::max(pages_for(rows(length), shape_.page_rows) - first_page_, 0));
  if (held >= pages_.size()) return;
  pages_.resize(held);
  page_pointers_.resize(held);
}

std::span<float> RowLog::row(int number) {
  SLUICE_DCHECK(number >= first_row());
  const int within = number - first_row();
  float* const page = pages_[static_cast<std::size_t>(within / shape_.page_rows)].get();
  const auto words = static_cast<std::size_t>(shape_.words());
  return {page + static_cast<std::size_t>(within % shape_.page_rows) * words, words};
}

}  // namespace sluice
