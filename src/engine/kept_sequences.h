// Sequences that may go on: the states that requests left behind, kept as long as there is room.
//
// A prompt that begins as a kept conversation does goes on from where they part; what recurrent parts cannot go back to
// is computed again. Kept states take memory that the plan grants to sequences and that nobody uses, so a full house
// keeps nothing; the one that was used longest ago goes first. Used by the engine's thread.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "engine/head_drafter.h"
#include "state/sequence_state.h"

namespace sluice {

struct KeptSequence {
  int prompt = 0;                        // of the tokens, so many were given, the others generated
  std::vector<int> tokens;               // that the states have computed, and behind them those known beyond
  std::unique_ptr<SequenceState> state;  // null: nothing is computed
  std::unique_ptr<HeadDrafter> head;     // follows the state; null: drafts come without one

  // The most that a prompt can use of it: less than all of the prompt, whose last token's logits are wanted.
  int usable(std::span<const int> prompt) const;
  std::uint64_t bytes() const;  // of its states
};

class KeptSequences {
 public:
  explicit KeptSequences(std::uint64_t room) : room_(room) {}

  // The kept conversation that the prompt can use most of, gone back to there. If the prompt leaves it and there is
  // room for both beside `in_use` bytes, it stays as it is and a fork is returned. Nothing to use: no state.
  KeptSequence take(std::span<const int> prompt, std::uint64_t in_use);
  void keep(KeptSequence conversation, std::uint64_t in_use);
  // Drops kept ones until `in_use` bytes of others fit too. False: they do not, and nothing is kept.
  bool make_room(std::uint64_t in_use);

  // The one that was used last; null: none is kept.
  KeptSequence* latest() { return kept_.empty() ? nullptr : &kept_.front(); }
  std::list<KeptSequence>& all() { return kept_; }  // the last used one first
  void clear() { kept_.clear(); }
  std::uint64_t room() const { return room_; }  // bytes of all that run and all that are kept
  std::size_t count() const { return kept_.size(); }
  std::uint64_t bytes() const;

 private:
  std::uint64_t room_;
  std::list<KeptSequence> kept_;  // the last used one first
};

}  // namespace sluice
