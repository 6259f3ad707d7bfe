// Which tokens may come next: the vocabulary in the order of its bytes, walked through a grammar.
//
// Tokens that begin alike stand together, so a beginning that cannot be is looked at once and all tokens with it are
// passed over.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "generate/grammar_matcher.h"
#include "text/tokenizer.h"

namespace sluice {

// One bit an id.
class TokenMask {
 public:
  explicit TokenMask(std::size_t ids = 0) : words_((ids + 63) / 64, 0) {}
  void allow(int id) { words_[static_cast<std::size_t>(id) / 64] |= std::uint64_t{1} << (id % 64); }
  bool allows(int id) const { return (words_[static_cast<std::size_t>(id) / 64] >> (id % 64) & 1) != 0; }
  // The id that is allowed, if it is the only one below `count`.
  std::optional<int> only(int count) const;
  bool operator==(const TokenMask&) const = default;

 private:
  std::vector<std::uint64_t> words_;
};

class VocabularyOrder {
 public:
  // `bytes` of each of the ids 0 .. count-1; empty: the token is never text. Keeps `bytes`.
  VocabularyOrder(int count, std::function<std::string_view(int id)> bytes);

  int count() const { return count_; }
  // Tokens whose bytes, and control tokens that as such, may come next. May be stopped by matcher.overflowed().
  TokenMask allowed(GrammarMatcher& matcher, GrammarMatcher::State state) const;
  // The state after a token, or kNone. A token that the grammar names and that has text may be either: what follows
  // tells.
  GrammarMatcher::State after(GrammarMatcher& matcher, GrammarMatcher::State state, int id) const;

 private:
  int count_;
  std::function<std::string_view(int)> bytes_;
  std::vector<int> ids_;               // of tokens that are text, in the order of their bytes
  std::vector<std::uint16_t> shared_;  // bytes that each has in common with the one before
};

// Of a tokenizer's ids below `count`; special tokens are never text. Keeps a reference to the tokenizer.
std::shared_ptr<const VocabularyOrder> order_of(const Tokenizer& tokenizer, int count);

}  // namespace sluice
