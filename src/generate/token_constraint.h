// Holds one sequence to a grammar: which tokens it may go on with, and when it is done.
//
// Masks of the states that come again (the inside of a string, what follows it) are kept, so most tokens cost no walk
// over the vocabulary. What it does is a function of the grammar and the tokens alone. Used by one thread.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "generate/token_mask.h"

namespace sluice {

// What a request is held to.
struct HeldTo {
  std::shared_ptr<const Grammar> grammar;  // null: nothing
  std::shared_ptr<const VocabularyOrder> order;
};

class TokenConstraint {
 public:
  // What one sequence holds at most, and what all of them share: the order of the vocabulary.
  static std::uint64_t bytes(int vocab_size);
  static std::uint64_t shared_bytes(int vocab_size);

  // `stop_ids` may come wherever the text is complete.
  TokenConstraint(const HeldTo& form, std::vector<int> stop_ids);

  // The logits with minus infinity for every id that may not come. bad_input if none may, or if the grammar can be read
  // in too many ways. Valid until the next call.
  Result<std::span<const float>> masked(std::span<const float> logits);
  // The one id below `count` that may come, if it is the only one.
  std::optional<int> forced(int count);
  // The token that was chosen, one that may come.
  void accept(int id);
  // The text is complete and nothing may follow, or a stop id came.
  bool ended() const { return ended_; }

 private:
  struct Kept {
    GrammarMatcher::State state;
    TokenMask mask;
  };
  const TokenMask* mask();

  GrammarMatcher matcher_;
  std::shared_ptr<const VocabularyOrder> order_;
  std::vector<int> stop_ids_;
  GrammarMatcher::State state_;
  std::list<Kept> kept_;  // used last first
  std::vector<float> logits_;
  bool ended_ = false;
};

}  // namespace sluice
