// One sequence's use of a model's draft head: follows the positions that the model has computed for certain, and drafts
// beyond them.
//
// The head needs each position's last vector and the token after it. They are collected, and given to the head when
// drafts are wanted or when they have become many, so that a sequence that does not draft for a while costs little.
// Used by the thread that runs the batch.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/engine.h"

namespace sluice {

class HeadDrafter {
 public:
  // Requires: the engine's model has a draft head.
  explicit HeadDrafter(Engine& engine);
  HeadDrafter(Engine& engine, std::unique_ptr<SequenceState> state);  // that goes on from a history of the head

  // Positions known: the head's own history and those collected.
  int length() const { return state_->length() + collected(); }
  // The next positions: their vectors, and the token after each.
  Result<> follow(Rows hidden, std::span<const int> next);
  // At most `most` tokens beyond the last token that follow was told. `choose` picks one from logits, for the n-th
  // place. Empty if nothing was followed since the last drafts.
  using Choose = std::function<int(std::span<const float> logits, int place)>;
  Result<std::vector<int>> draft(int most, const Choose& choose);

  // Forgets positions from `length` on. False if it does not know as many, or cannot go back to just there: then it is
  // of no more use to its sequence.
  [[nodiscard]] bool rollback(int length);
  std::unique_ptr<HeadDrafter> fork() const;
  // The head's own history, after which nothing is collected: what was is given to the head first.
  Result<SequenceState*> settled();

  std::uint64_t bytes() const;
  // Of what is collected by one sequence, beside its state, at most.
  static std::uint64_t collected_bytes(const ModelConfig& config);

 private:
  static constexpr int kCollected = 64;  // positions at most
  int collected() const { return static_cast<int>(next_.size()); }
  Result<DraftCursor> extend(Rows hidden, std::span<const int> next, Rows logits);
  Result<DraftCursor> settle(Rows logits);
  Rows hidden_rows();

  Engine& engine_;
  DraftHead& head_;
  std::unique_ptr<SequenceState> state_;
  std::vector<float> hidden_;  // [collected, hidden]
  std::vector<int> next_;      // [collected]
};

}  // namespace sluice
