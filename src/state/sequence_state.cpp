// See sequence_state.h.
#include "state/sequence_state.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/check.h"
#include "io/extent.h"

namespace sluice {

namespace {

void copy(const PageArena& from, PageArena& to) {
  if (to.size() < from.size()) to = PageArena(from.size(), "a copy of a sequence's state");
  SLUICE_CHECK(to.size() >= from.size());
  std::memcpy(to.data(), from.data(), from.size());
}

}  // namespace

std::uint64_t StateShape::recurrent_bytes() const {
  return page_ceil(std::accumulate(recurrent_floats.begin(), recurrent_floats.end(), std::uint64_t{0}) * sizeof(float));
}

std::uint64_t StateShape::bytes(int length) const {
  std::uint64_t bytes = recurrent_bytes();
  for (const LogShape& log : logs) bytes += log.bytes(length);
  return bytes;
}

std::uint64_t StateShape::pending_bytes(int rows) const {
  std::uint64_t bytes = 0;
  for (const LogShape& log : logs) {
    if (log.kept == 0) continue;
    LogShape pending = log;
    pending.kept = 0;
    bytes += pending.bytes(rows);
  }
  return bytes;
}

std::uint64_t StateShape::mark_bytes() const {
  std::uint64_t bytes = recurrent_bytes();
  for (const LogShape& log : logs)
    if (log.kept > 0) bytes += log.bytes(log.kept + log.page_rows);  // they may begin and end inside a page
  return bytes;
}

std::uint64_t StateShape::widened_bytes(int length) const {
  std::uint64_t bytes = 0;
  for (LogShape log : logs) {
    if (log.format == RowFormat::fp32) continue;
    log.format = RowFormat::fp32;
    bytes = std::max(bytes, log.bytes(length));
  }
  return bytes;
}

void StateShape::narrow(RowFormat format) {
  for (LogShape& log : logs)
    if (log.width > 0 && log.kept == 0) log.format = format;
}

SequenceState::SequenceState(const StateShape& shape) : shape_(shape) {
  for (const LogShape& log : shape.logs) logs_.emplace_back(log);
  std::uint64_t floats = 0;
  for (std::uint64_t count : shape.recurrent_floats) {
    recurrent_offset_.push_back(floats);
    floats += count;
  }
  recurrent_ = PageArena(floats * sizeof(float), "the state of a sequence");
  SLUICE_CHECK(recurrent_.size() >= floats * sizeof(float));
}

void SequenceState::open(int rows, bool certain) {
  SLUICE_CHECK(!broken_ && pending_ == 0);
  pending_ = rows;
  certain_ = certain;
  for (RowLog& log : logs_)
    if (log.width() > 0) log.reserve(length_, length_ + rows);
  if (!certain && has_recurrent()) copy(recurrent_, before_);
}

int SequenceState::commit(int rows) {
  SLUICE_CHECK(!broken_ && rows <= pending_);
  if (has_recurrent() && rows != pending_) {
    SLUICE_CHECK(!certain_);
    std::swap(recurrent_, before_);
    rows = 0;
  }
  length_ += rows;
  pending_ = 0;
  for (RowLog& log : logs_) log.settle(length_);
  return rows;
}

void SequenceState::mark(int kept) {
  SLUICE_CHECK(!broken_ && pending_ == 0);
  if (shape_.mark_bytes() == 0 || kept == 0 || length_ == 0) return;
  if (!marks_.empty() && marks_.back().length == length_) return;
  if (static_cast<int>(marks_.size()) >= kept) marks_.erase(marks_.begin(), marks_.end() - (kept - 1));
  PageArena now;
  if (has_recurrent()) copy(recurrent_, now);
  marks_.push_back({length_, std::make_shared<PageArena>(std::move(now)), {}});
  for (const RowLog& log : logs_)
    if (log.shape().kept > 0) marks_.back().forgetting.push_back(log);
}

// Without a mark.
bool SequenceState::reaches(int length) const {
  if (length == length_ || length == 0) return length == length_;
  return !has_recurrent() && std::ranges::all_of(logs_, [&](const RowLog& log) { return log.reaches(length); });
}

int SequenceState::reachable(int length) const {
  if (reaches(length)) return length;
  int reached = 0;
  for (const Mark& mark : marks_)
    if (mark.length <= length) reached = mark.length;
  return reached;
}

int SequenceState::rollback(int length) {
  SLUICE_CHECK(!broken_ && pending_ == 0 && length >= 0 && length <= length_);
  const int reached = reachable(length);
  if (reached == length_) return reached;
  if (reached > 0 && reaches(reached)) {
    std::erase_if(marks_, [&](const Mark& mark) { return mark.length > reached; });
    for (RowLog& log : logs_) log.shrink(reached);
    length_ = reached;
  } else {
    go_to(reached);
  }
  return reached;
}

// Back to a mark, or to the beginning.
void SequenceState::go_to(int length) {
  std::erase_if(marks_, [&](const Mark& mark) { return mark.length > length; });
  if (length == 0) {
    *this = SequenceState(shape_);
    return;
  }
  const Mark& mark = marks_.back();
  if (has_recurrent()) copy(*mark.recurrent, recurrent_);
  auto forgotten = mark.forgetting.begin();
  for (RowLog& log : logs_)
    if (log.shape().kept > 0) log = *forgotten++;
  for (RowLog& log : logs_) log.shrink(length);
  length_ = length;
}

int SequenceState::give_up() {
  broken_ = false;
  pending_ = 0;
  for (RowLog& log : logs_) log.settle(length_);
  if (!has_recurrent()) return length_;
  if (certain_)
    go_to(marks_.empty() ? 0 : marks_.back().length);
  else
    std::swap(recurrent_, before_);
  return length_;
}

std::unique_ptr<SequenceState> SequenceState::fork() const {
  SLUICE_CHECK(!broken_ && pending_ == 0);
  auto twin = std::make_unique<SequenceState>(shape_);
  twin->length_ = length_;
  twin->logs_ = logs_;
  twin->marks_ = marks_;
  if (has_recurrent()) copy(recurrent_, twin->recurrent_);
  return twin;
}

void SequenceState::restore(int length) {
  SLUICE_CHECK(length_ == 0 && pending_ == 0);
  for (RowLog& log : logs_)
    if (log.width() > 0) log.restore(length);
  length_ = length;
}

void SequenceState::restore_mark(int length) {
  SLUICE_CHECK(pending_ == 0 && length > 0 && length <= length_ && (marks_.empty() || marks_.back().length < length));
  Mark mark{length, std::make_shared<PageArena>(recurrent_.size()), {}};
  SLUICE_CHECK(mark.recurrent->size() >= recurrent_.size());
  for (const RowLog& log : logs_) {
    if (log.shape().kept == 0) continue;
    mark.forgetting.emplace_back(log.shape());
    mark.forgetting.back().restore(length);
  }
  marks_.push_back(std::move(mark));
}

std::uint64_t SequenceState::bytes() const {
  std::uint64_t bytes = recurrent_.size() + before_.size() + marks_.size() * shape_.mark_bytes();
  for (const RowLog& log : logs_) bytes += log.bytes();
  return bytes;
}

void SequenceState::trim() {
  SLUICE_CHECK(pending_ == 0);
  before_ = PageArena();
  for (RowLog& log : logs_) log.shrink(length_);
}

std::span<float> SequenceState::part_of(const PageArena& recurrent, int layer) const {
  const auto index = static_cast<std::size_t>(layer);
  return {reinterpret_cast<float*>(recurrent.data()) + recurrent_offset_[index], shape_.recurrent_floats[index]};
}

std::span<float> SequenceState::recurrent(int layer) { return part_of(recurrent_, layer); }

std::span<float> SequenceState::marked_recurrent(int which, int layer) {
  return part_of(*marks_[static_cast<std::size_t>(which)].recurrent, layer);
}

RowLog* SequenceState::marked_log(int which, int layer) {
  if (log(layer).shape().kept == 0) return nullptr;
  const auto before =
      std::count_if(logs_.begin(), logs_.begin() + layer, [](const RowLog& log) { return log.shape().kept > 0; });
  return &marks_[static_cast<std::size_t>(which)].forgetting[static_cast<std::size_t>(before)];
}

}  // namespace sluice
