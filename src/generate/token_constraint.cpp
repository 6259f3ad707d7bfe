// See token_constraint.h.
#include "generate/token_constraint.h"

#include <algorithm>
#include <limits>

namespace sluice {

namespace {

constexpr std::size_t kMasksKept = 16;

}  // namespace

// The masks, one more while it is made, and the logits.
std::uint64_t TokenConstraint::bytes(int vocab_size) {
  const auto ids = static_cast<std::uint64_t>(vocab_size);
  return GrammarMatcher::kMostBytes + (kMasksKept + 1) * (ids / 8 + 64) + ids * sizeof(float);
}

// Ids, and what each shares with the one before it; twice while they are sorted.
std::uint64_t TokenConstraint::shared_bytes(int vocab_size) {
  return 2 * static_cast<std::uint64_t>(vocab_size) * (sizeof(int) + sizeof(std::uint16_t));
}

TokenConstraint::TokenConstraint(const HeldTo& form, std::vector<int> stop_ids)
    : matcher_(form.grammar), order_(form.order), stop_ids_(std::move(stop_ids)), state_(matcher_.start()) {}

// Null: the grammar can be read in too many ways.
const TokenMask* TokenConstraint::mask() {
  if (matcher_.overflowed() || state_ == GrammarMatcher::kNone) return nullptr;
  if (matcher_.tidy(state_)) kept_.clear();
  const auto found = std::ranges::find(kept_, state_, &Kept::state);
  if (found != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, found);
    return &kept_.front().mask;
  }
  TokenMask mask = order_->allowed(matcher_, state_);
  if (matcher_.overflowed()) return nullptr;
  if (matcher_.complete(state_))
    for (const int id : stop_ids_)
      if (id < order_->count()) mask.allow(id);
  if (kept_.size() == kMasksKept) kept_.pop_back();
  kept_.push_front({state_, std::move(mask)});
  return &kept_.front().mask;
}

Result<std::span<const float>> TokenConstraint::masked(std::span<const float> logits) {
  const TokenMask* const allowed = mask();
  if (allowed == nullptr)
    return fail(ErrorKind::bad_input, "the grammar can be read in too many ways at once",
                "write it so that the next characters tell which rule they belong to");
  logits_.assign(logits.begin(), logits.end());
  bool any = false;
  for (std::size_t id = 0; id < logits_.size(); ++id) {
    if (id < static_cast<std::size_t>(order_->count()) && allowed->allows(static_cast<int>(id)))
      any = true;
    else
      logits_[id] = -std::numeric_limits<float>::infinity();
  }
  if (!any) return fail(ErrorKind::bad_input, "no token of this model can go on as the grammar wants");
  return std::span<const float>(logits_);
}

std::optional<int> TokenConstraint::forced(int count) {
  const TokenMask* const allowed = mask();
  return allowed == nullptr ? std::nullopt : allowed->only(std::min(count, order_->count()));
}

void TokenConstraint::accept(int id) {
  const GrammarMatcher::State next = order_->after(matcher_, state_, id);
  if (next == GrammarMatcher::kNone && matcher_.complete(state_) &&
      std::ranges::find(stop_ids_, id) != stop_ids_.end()) {
    ended_ = true;
    return;
  }
  state_ = next;
  ended_ = next != GrammarMatcher::kNone && matcher_.complete(next) && !matcher_.goes_on(next);
}

}  // namespace sluice
