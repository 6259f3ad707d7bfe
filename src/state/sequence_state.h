// What one conversation carries from token to token: named parts behind open / write / commit.
//
// A forward pass reads committed rows and its own pending ones and writes pending ones only; commit(n) keeps the first
// n of them. Logs of rows are exact under any commit, and those that keep all rows go back to any length. A recurrent
// part (float arrays advanced in place) is whole only at the lengths it was copied at: before rows that are not
// certain, and where it was marked; a log that forgets goes back a little, or to a mark. What is lost by going back
// farther than was wanted is computed again: the same tokens give the same bits, however they are cut. If a step fails
// half-way, the state is broken and says so; it must be dropped.
#pragma once

#include <cstdint>
#include <memory>
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
  // Of a copy of what is recurrent, which is kept while rows are not certain.
  std::uint64_t recurrent_bytes() const;
  // Of a mark, at most: what going back needs beyond a length. 0: nothing, every length can be reached.
  std::uint64_t mark_bytes() const;
  // Of the rows of one log, as attention reads them, where they are stored narrower; 0: none is.
  std::uint64_t widened_bytes(int length) const;
  bool operator==(const StateShape&) const = default;

  // Stores logs that keep all rows in this format.
  void narrow(RowFormat format);
};

class SequenceState {
 public:
  explicit SequenceState(const StateShape& shape);

  int length() const { return length_; }
  // Makes room for `rows` pending rows after the committed ones. Certain ones will be committed whole; for others
  // recurrent parts are copied first. Requires: no rows are pending.
  void open(int rows, bool certain = true);
  // The first `rows` pending ones become permanent, the others never happened. Returns how many were kept: all of
  // `rows`, or none where a recurrent part had to go back to where the step began.
  // Requires: rows <= pending; all of them if they were certain and the state has recurrent parts.
  int commit(int rows);
  // The forward pass failed after it had begun: recurrent parts hold half a step.
  void mark_broken() { broken_ = true; }
  bool broken() const { return broken_; }
  // The forward pass ended before its time: whole again, at the length where it began or, where recurrent parts were
  // advanced and nobody copied them, at that of the last mark, or at 0. Returns the length.
  int give_up();

  // Remembers what length alone cannot bring back, and of earlier marks the latest, `kept` in all. Costs nothing where
  // it can bring back everything.
  void mark(int kept);
  int marks() const { return static_cast<int>(marks_.size()); }
  void drop_marks() { marks_.clear(); }
  // Goes back to the greatest length that is at most `length` and can be reached, and returns it: `length` itself, or
  // where that cannot be, that of a mark, or 0. Requires: not broken, no rows pending, length <= length().
  int rollback(int length);
  int reachable(int length) const;  // what rollback would return
  // The same state once more; both go on by themselves. Requires: not broken, no rows pending.
  std::unique_ptr<SequenceState> fork() const;
  // A new state becomes one of `length` tokens, whose rows and recurrent parts are yet to be written.
  void restore(int length);

  // Marks and what they hold, for files: the earliest first.
  int mark_length(int which) const { return marks_[static_cast<std::size_t>(which)].length; }
  std::span<float> marked_recurrent(int which, int layer);
  RowLog* marked_log(int which, int layer);  // null: marks need nothing of this log
  // A mark behind all others of a state that was restored; what it holds is yet to be written.
  void restore_mark(int length);

  // Memory held now; trim first gives back what only pending rows need.
  std::uint64_t bytes() const;
  void trim();

  int logs() const { return static_cast<int>(logs_.size()); }  // at least one for each layer
  RowLog& log(int layer) { return logs_[static_cast<std::size_t>(layer)]; }
  std::span<float> recurrent(int layer);
  const StateShape& shape() const { return shape_; }

 private:
  struct Mark {
    int length;
    std::shared_ptr<PageArena> recurrent;  // shared by forks: nobody writes to it
    std::vector<RowLog> forgetting;        // logs that keep only their last rows, in order
  };
  bool reaches(int length) const;
  void go_to(int length);
  std::span<float> part_of(const PageArena& recurrent, int layer) const;
  bool has_recurrent() const { return recurrent_.size() > 0; }

  StateShape shape_;
  int length_ = 0, pending_ = 0;
  bool broken_ = false, certain_ = true;
  std::vector<RowLog> logs_;
  PageArena recurrent_;  // zero at the start of a sequence, as the system hands it out
  PageArena before_;     // of the pending rows, if they are not certain
  std::vector<std::uint64_t> recurrent_offset_;
  std::vector<Mark> marks_;  // ascending, all at most length_
};

}  // namespace sluice
