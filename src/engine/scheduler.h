// Who gets rows of the next step: a pure function of values.
//
// A row that finishes a sequence's backlog brings it a token, so those rows come first. What is left of the step goes
// to prefills, in equal shares: a short prompt does not wait for a long one. While anyone decodes, prefills together
// get at most a quarter of a step, so that a long prompt slows running answers by a bounded factor and does not stop
// them. Where there are more sequences than rows, those that have waited longest come first, so nobody starves. Rows
// that nobody needs are given to drafts.
#pragma once

#include <span>
#include <vector>

namespace sluice {

struct StepLimits {
  int slots = 1;       // sequences that run at the same time
  int rows = 1;        // of one step
  int logit_rows = 1;  // of one step; at least 1
};

// A sequence that has a slot.
struct RunningSequence {
  int backlog = 1;          // tokens that are known but not computed: 1 while decoding, at least 1
  int steps_waited = 0;     // since it had rows
  bool all_logits = false;  // every row's logits are wanted, else only those of the row that ends the backlog
  int drafts = 0;           // rows that it can use beyond its backlog, each with logits
};

struct StepPlan {
  int admit = 0;          // that many of the waiting ones get slots now, first come first served; they run next step
  std::vector<int> rows;  // for each running sequence: how many of its backlog are computed now, and more for drafts
};

// At least one row is planned if anyone runs.
StepPlan next_step(std::span<const RunningSequence> running, int waiting, const StepLimits& limits);

}  // namespace sluice
