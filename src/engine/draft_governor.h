// Whether drafting pays: compares what a new token costs with drafts and without, and stops drafting for a while where
// it costs more.
//
// Costs are weights moved, not seconds, so that what is drafted does not depend on how busy a machine is: a byte read
// from disk costs far more than one that is multiplied with from memory, and each further row of a step a little.
// Pauses double while drafting does not pay, so that a text on which it never does loses next to nothing; a text can
// change, so it is tried again.
#pragma once

#include <cstdint>

namespace sluice {

struct StepCost {
  std::uint64_t bytes_read = 0;     // from disk, in this step
  std::uint64_t bytes_touched = 0;  // of weights, each once however many rows it met
  std::uint64_t bytes_a_row = 0;    // of weights that one row is multiplied with
  std::uint64_t bytes_copied = 0;   // read and written, of states that may have to go back
  int rows = 1;
  double value() const;
};

class DraftGovernor {
 public:
  bool allows() const;
  // A step in which everyone only decoded, and brought `tokens` in all. `drafted`: drafts were in it, or rows had to be
  // computed again because of rejected ones.
  void step(const StepCost& cost, int tokens, bool drafted);

 private:
  static constexpr int kFirstPlain = 2;   // steps without drafts that are looked at before the first with
  static constexpr int kTrial = 4;        // steps with drafts before they are judged
  static constexpr int kPlainEvery = 48;  // a step without drafts now and then, for what it costs now
  static constexpr int kFirstPause = 8, kLongestPause = 512;

  double ratio_ = 0;  // of costs with drafts to those without, of recent trials
  double plain_ = 0;  // cost of a token without drafts, recent ones count more
  int plain_steps_ = 0, trial_ = 0, since_plain_ = 0;
  int pause_ = 0, next_pause_ = kFirstPause;
  double trial_cost_ = 0;
  int trial_tokens_ = 0;
};

}  // namespace sluice
