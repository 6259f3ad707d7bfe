// See scheduler.h.
#include "engine/scheduler.h"

#include <algorithm>
#include <numeric>

namespace sluice {

namespace {

constexpr int kPrefillShare = 4;  // prefills get at most a quarter of a step that others decode in

// Hands out rows of one step.
class Step {
 public:
  Step(std::span<const RunningSequence> running, const StepLimits& limits)
      : running_(running), rows_left_(limits.rows), logit_rows_left_(limits.logit_rows), given_(running.size(), 0) {}

  int rows_left() const { return rows_left_; }
  std::vector<int> take() { return std::move(given_); }

  // One more row for a sequence, if it can use one.
  bool give(std::size_t index) {
    const RunningSequence& sequence = running_[index];
    if (rows_left_ == 0 || given_[index] == sequence.backlog) return false;
    return take_row(index, sequence.all_logits || given_[index] + 1 == sequence.backlog);
  }

  // One more draft for each that can use one and has all of its backlog, in turn, as long as there are rows.
  void give_drafts() {
    for (bool anyone = true; anyone;) {
      anyone = false;
      for (std::size_t index = 0; index < running_.size(); ++index) {
        const RunningSequence& sequence = running_[index];
        const int given = given_[index];
        if (given < sequence.backlog || given == sequence.backlog + sequence.drafts || rows_left_ == 0) continue;
        anyone = take_row(index, true) || anyone;
      }
    }
  }

  // Shares rows among prefills in turn, at most `most` in all.
  void share(std::span<const std::size_t> order, int most) {
    for (bool anyone = true; anyone && most > 0;) {
      anyone = false;
      for (const std::size_t index : order) {
        if (most == 0) break;
        const bool given = give(index);
        most -= given ? 1 : 0;
        anyone = anyone || given;
      }
    }
  }

 private:
  bool take_row(std::size_t index, bool makes_logits) {
    if (makes_logits && logit_rows_left_ == 0) return false;
    logit_rows_left_ -= makes_logits ? 1 : 0;
    --rows_left_;
    ++given_[index];
    return true;
  }

  std::span<const RunningSequence> running_;
  int rows_left_, logit_rows_left_;
  std::vector<int> given_;
};

}  // namespace

StepPlan next_step(std::span<const RunningSequence> running, int waiting, const StepLimits& limits) {
  StepPlan plan;
  plan.admit = std::clamp(limits.slots - static_cast<int>(running.size()), 0, waiting);

  std::vector<std::size_t> order(running.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t index) { return running[index].steps_waited; });
  Step step(running, limits);
  if (limits.rows < static_cast<int>(running.size())) {  // everyone waits their turn for one row, decoding or not
    for (const std::size_t index : order) step.give(index);
  } else {
    const auto decodes = [&](std::size_t index) { return running[index].backlog == 1; };
    const auto prefills = std::stable_partition(order.begin(), order.end(), decodes);
    const std::span<const std::size_t> decoding(order.begin(), prefills);
    const std::span<const std::size_t> prefilling(prefills, order.end());
    for (const std::size_t index : decoding) step.give(index);
    const int quarter = std::max(limits.rows / kPrefillShare, static_cast<int>(prefilling.size()));
    step.share(prefilling, std::min(decoding.empty() ? limits.rows : quarter, step.rows_left()));
    step.give_drafts();
  }
  plan.rows = step.take();
  return plan;
}

}  // namespace sluice
