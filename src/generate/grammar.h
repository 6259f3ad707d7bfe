// A language of byte strings and tokens, as rules of alternatives: what a model may be held to write.
//
// Rules are context-free. A terminal is a set of bytes, so that characters of several bytes may be cut between tokens,
// or a set of token ids: control tokens have no text. Made once for a request, then immutable: any thread may use it.
#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace sluice {

class Grammar {
 public:
  enum class Kind : std::uint8_t {
    end,     // of an alternative
    bytes,   // one byte of the set byte_sets[index]
    tokens,  // one of the ids token_sets[index]
    rule,    // what rules[index] derives
  };
  struct Element {
    Kind kind = Kind::end;
    std::uint32_t index = 0;
  };
  using ByteSet = std::bitset<256>;

  // Alternatives stand one after another, each closed by an end.
  std::vector<Element> elements;
  std::vector<std::vector<std::uint32_t>> rules;  // of each rule: where in `elements` its alternatives begin
  std::vector<ByteSet> byte_sets;
  std::vector<std::vector<int>> token_sets;  // ids rise
  std::uint32_t root = 0;                    // a rule
};

class GrammarBuilder {
 public:
  struct Symbol {
    Grammar::Kind kind = Grammar::Kind::end;
    std::uint32_t index = 0;
  };
  using Sequence = std::vector<Symbol>;
  using CharacterRanges = std::vector<std::pair<char32_t, char32_t>>;  // both ends belong to it

  // A new rule. One without alternatives derives nothing.
  Symbol rule();
  void add_alternative(Symbol rule, Sequence sequence);
  Symbol choice(std::vector<Sequence> alternatives);
  // Exactly one of these texts; what they begin with alike is shared.
  Symbol one_of(std::vector<std::string> texts);

  Sequence literal(std::string_view bytes);
  Sequence ids(std::span<const int> ids);  // one after another
  Symbol any_id(std::vector<int> ids);     // one of them
  Symbol byte_set(const Grammar::ByteSet& set);
  // One character of the ranges (or, if `negated`, of all others) in UTF-8.
  Symbol characters(CharacterRanges ranges, bool negated = false);
  Symbol optional(Sequence sequence);
  // `most` < 0: any number.
  Sequence repeat(Sequence sequence, int least, int most);

  // bad_input if the rules are too many, recur to the left (a rule begins with itself), or derive nothing finite.
  Result<Grammar> finish(Symbol root);

  static constexpr std::size_t kMostElements = 200'000;
  bool too_large() const { return size_ > kMostElements; }

 private:
  void add_utf8(char32_t first, char32_t last, Symbol into);

  std::vector<std::vector<Sequence>> rules_;
  std::vector<Grammar::ByteSet> byte_sets_;
  std::vector<std::vector<int>> token_sets_;
  std::map<std::string, std::uint32_t> known_byte_sets_;
  std::size_t size_ = 0;  // elements so far
};

// One after the other.
inline GrammarBuilder::Sequence operator+(GrammarBuilder::Sequence left, const GrammarBuilder::Sequence& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

}  // namespace sluice
