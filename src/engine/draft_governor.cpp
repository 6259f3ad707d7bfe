// See draft_governor.h.
#include "engine/draft_governor.h"

#include <algorithm>

namespace sluice {

namespace {

constexpr double kFromMemory = 1.0 / 8;   // of a byte from disk
constexpr double kFurtherRow = 1.0 / 32;  // multiplying once more with what is in the caches
constexpr double kNews = 1.0 / 4;         // of a recent average

void mix(double& average, double news) { average = average == 0 ? news : average + kNews * (news - average); }

}  // namespace

double StepCost::value() const {
  return static_cast<double>(bytes_read) + kFromMemory * static_cast<double>(bytes_touched + bytes_copied) +
         kFurtherRow * static_cast<double>(bytes_a_row) * rows;
}

bool DraftGovernor::allows() const { return plain_steps_ >= kFirstPlain && pause_ == 0 && since_plain_ < kPlainEvery; }

void DraftGovernor::step(const StepCost& cost, int tokens, bool drafted) {
  if (!drafted) {
    if (tokens > 0) mix(plain_, cost.value() / tokens);
    ++plain_steps_;
    since_plain_ = 0;
    pause_ = std::max(pause_ - 1, 0);
    return;
  }
  ++since_plain_;
  trial_cost_ += cost.value();
  trial_tokens_ += tokens;
  if (++trial_ < kTrial) return;
  const double ratio = trial_cost_ / (plain_ * std::max(trial_tokens_, 1));
  ratio_ = ratio_ == 0 ? ratio : (ratio_ + ratio) / 2;
  if (ratio_ > 1) {
    ratio_ = 0;
    pause_ = next_pause_;
    next_pause_ = std::min(2 * next_pause_, kLongestPause);
  } else {
    next_pause_ = kFirstPause;
  }
  trial_ = trial_tokens_ = 0;
  trial_cost_ = 0;
}

}  // namespace sluice
