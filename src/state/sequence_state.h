// What one conversation carries from token to token: named parts behind open / write / commit.
//
// A forward pass reads committed rows and its own pending ones and writes pending ones only; commit(n) keeps the first
// n of them. A part that can forget pending rows by length (RowLog) is exact under any commit. A recurrent part (float
// arrays advanced in place) cannot: its rows must be certain, i.e. committed whole. If a step over certain rows fails
// half-way, the state is broken and says so; it must be dropped.
#pragma once

#include <cstdint>
#include <vector>

#include "io/aligned.h"
#include "state/row_log.h"

namespace sluice {

// What a family wants to remember: for each layer, and behind those whatever else (keys of an indexer). Both lists have
// the same length.
struct StateShape {
  std::vector<std::uint64_t> recurrent_floats;  // 0: none
  std::vector<LogShape> logs;                   // width 0: none

  // Bytes of one sequence of `length` tokens.
  std::uint64_t bytes(int length) const;
  // Bytes beyond those that `rows` pending tokens take in logs that keep only their last rows.
  std::uint64_t pending_bytes(int rows) const;
};

class SequenceState {
 public:
  explicit SequenceState(const StateShape& shape);

  int length() const { return length_; }
  // Makes room for `rows` pending rows after the committed ones. Requires: no rows are pending.
  void open(int rows);
  // The first `rows` pending ones become permanent, the others never happened.
  // Requires: rows <= pending; all of them if the state has recurrent parts and the forward pass ran.
  void commit(int rows);
  // The forward pass failed after it had begun: recurrent parts hold half a step.
  void mark_broken() { broken_ = true; }
  bool broken() const { return broken_; }

  int logs() const { return static_cast<int>(logs_.size()); }  // at least one for each layer
  RowLog& log(int layer) { return logs_[static_cast<std::size_t>(layer)]; }
  std::span<float> recurrent(int layer);

 private:
  int length_ = 0, pending_ = 0;
  bool broken_ = false;
  std::vector<RowLog> logs_;
  PageArena recurrent_;  // zero at the start of a sequence, as the system hands it out
  std::vector<std::uint64_t> recurrent_offset_, recurrent_floats_;
};

}  // namespace sluice
