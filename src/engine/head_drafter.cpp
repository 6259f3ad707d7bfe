// See head_drafter.h.
#include "engine/head_drafter.h"

#include <algorithm>

#include "base/check.h"

namespace sluice {

HeadDrafter::HeadDrafter(Engine& engine) : HeadDrafter(engine, engine.model().draft_head()->new_state()) {}

HeadDrafter::HeadDrafter(Engine& engine, std::unique_ptr<SequenceState> state)
    : engine_(engine), head_(*engine.model().draft_head()), state_(std::move(state)) {}

Rows HeadDrafter::hidden_rows() {
  const int width = engine_.hidden_width();
  return {hidden_.data(), collected(), width, width};
}

Result<DraftCursor> HeadDrafter::extend(Rows hidden, std::span<const int> next, Rows logits) {
  const int last[] = {hidden.rows - 1};
  state_->open(hidden.rows);
  TRY_TAKE(DraftCursor cursor, head_.extend({.state = state_.get(),
                                             .hidden = hidden,
                                             .next = next,
                                             .logit_rows = std::span<const int>(last).first(logits.rows > 0 ? 1 : 0),
                                             .logits = logits}));
  state_->commit(hidden.rows);
  return cursor;
}

// The head takes as many rows at a time as the model. Requires: something is collected.
Result<DraftCursor> HeadDrafter::settle(Rows logits) {
  const Rows all = hidden_rows();
  const int most = engine_.plan().prefill_chunk;
  DraftCursor cursor;
  for (int first = 0; first < all.rows; first += most) {
    const int rows = std::min(most, all.rows - first);
    const auto next =
        std::span<const int>(next_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows));
    TRY_TAKE(cursor, extend(all.slice(first, rows), next, first + rows == all.rows ? logits : Rows{}));
  }
  hidden_.clear();
  next_.clear();
  return cursor;
}

Result<> HeadDrafter::follow(Rows hidden, std::span<const int> next) {
  SLUICE_CHECK(static_cast<std::size_t>(hidden.rows) == next.size());
  if (collected() > 0 && collected() + hidden.rows > kCollected) TRY(settle({}));
  if (hidden.rows > kCollected) {
    TRY(extend(hidden, next, {}));
    return {};
  }
  for (int row = 0; row < hidden.rows; ++row) hidden_.insert(hidden_.end(), hidden[row].begin(), hidden[row].end());
  next_.insert(next_.end(), next.begin(), next.end());
  return {};
}

Result<std::vector<int>> HeadDrafter::draft(int most, const Choose& choose) {
  std::vector<int> drafts;
  if (next_.empty() || most == 0) return drafts;
  const Rows logits = engine_.draft_logits();
  TRY_TAKE(DraftCursor cursor, settle(logits));
  drafts.push_back(choose(logits[0], 0));
  while (static_cast<int>(drafts.size()) < most) {
    TRY(head_.ahead(cursor, drafts.back(), logits));
    drafts.push_back(choose(logits[0], static_cast<int>(drafts.size())));
  }
  return drafts;
}

bool HeadDrafter::rollback(int length) {
  if (length > this->length()) return false;
  const int kept = std::max(length - state_->length(), 0);
  next_.resize(static_cast<std::size_t>(kept));
  hidden_.resize(static_cast<std::size_t>(kept) * static_cast<std::size_t>(engine_.hidden_width()));
  return length >= state_->length() || state_->rollback(length) == length;
}

std::unique_ptr<HeadDrafter> HeadDrafter::fork() const {
  auto twin = std::make_unique<HeadDrafter>(engine_, state_->fork());
  twin->hidden_ = hidden_;
  twin->next_ = next_;
  return twin;
}

Result<SequenceState*> HeadDrafter::settled() {
  if (collected() > 0) TRY(settle({}));
  return state_.get();
}

std::uint64_t HeadDrafter::bytes() const {
  return state_->bytes() + hidden_.capacity() * sizeof(float) + next_.capacity() * sizeof(int);
}

std::uint64_t HeadDrafter::collected_bytes(const ModelConfig& config) {
  return static_cast<std::uint64_t>(kCollected) * static_cast<std::uint64_t>(config.draft_width()) * sizeof(float) * 2;
}

}  // namespace sluice
