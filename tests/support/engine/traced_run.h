// Runs a checkpoint batch by batch and keeps everything that a family's hooks tell, for every row: what goldens of
// sparse attention and of draft heads speak of.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "engine/engine.h"

namespace sluice::test {

// What one row of a batch saw and left, by layer where there are layers. The draft head's layer is the one behind the
// model's.
struct TracedRow {
  std::vector<float> logits, hidden;
  std::map<int, std::vector<float>> residual;
  std::map<int, std::vector<Route>> routes;
  std::map<int, std::vector<int>> keys;      // layers that had to leave something out
  std::map<int, std::vector<float>> scores;  // of the same
};

class TracedRun {
 public:
  // Throws the error's sentence if the engine cannot be opened.
  TracedRun(const std::string& directory, const EngineOptions& options);

  // Feeds tokens `chunk` rows at a time (0: all at once) and commits them; returns a row for each.
  std::vector<TracedRow> feed(std::span<const int> tokens, int chunk = 0);
  // The same for rows that are then forgotten but for the first `keep`.
  std::vector<TracedRow> try_rows(std::span<const int> tokens, int keep);
  // The draft head over the next true positions: their hidden vectors, and the token after each. Committed.
  std::vector<TracedRow> extend(std::span<const TracedRow> rows, std::span<const int> next, int chunk = 0);
  // Drafts one token further than the last extend or ahead; returns the logits.
  std::vector<float> ahead(int token);

  SequenceState& state() { return *state_; }
  SequenceState& draft_state() { return *draft_state_; }
  const DraftCursor& cursor() const { return cursor_; }
  Engine& engine() { return *engine_; }

 private:
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<SequenceState> state_, draft_state_;
  DraftCursor cursor_;
};

}  // namespace sluice::test
