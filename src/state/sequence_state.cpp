// See sequence_state.h.
#include "state/sequence_state.h"

#include <numeric>

#include "base/check.h"
#include "io/extent.h"

namespace sluice {

std::uint64_t StateShape::bytes(int length) const {
  std::uint64_t bytes =
      page_ceil(std::accumulate(recurrent_floats.begin(), recurrent_floats.end(), std::uint64_t{0}) * sizeof(float));
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

SequenceState::SequenceState(const StateShape& shape) : recurrent_floats_(shape.recurrent_floats) {
  for (const LogShape& log : shape.logs) logs_.emplace_back(log);
  std::uint64_t floats = 0;
  for (std::uint64_t count : recurrent_floats_) {
    recurrent_offset_.push_back(floats);
    floats += count;
  }
  recurrent_ = PageArena(floats * sizeof(float));
  SLUICE_CHECK(recurrent_.size() >= floats * sizeof(float));
}

void SequenceState::open(int rows) {
  SLUICE_CHECK(!broken_ && pending_ == 0);
  pending_ = rows;
  for (RowLog& log : logs_)
    if (log.width() > 0) log.reserve(length_ + rows);
}

void SequenceState::commit(int rows) {
  SLUICE_CHECK(!broken_ && rows <= pending_ && (rows == pending_ || recurrent_.size() == 0));
  length_ += rows;
  pending_ = 0;
  for (RowLog& log : logs_) log.settle(length_);
}

std::span<float> SequenceState::recurrent(int layer) {
  const auto index = static_cast<std::size_t>(layer);
  return {reinterpret_cast<float*>(recurrent_.data()) + recurrent_offset_[index], recurrent_floats_[index]};
}

}  // namespace sluice
