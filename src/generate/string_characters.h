// The characters of a string as rules of a grammar: as JSON writes them between its quotes, or bare, as chat formats
// write the strings among a tool's arguments.
#pragma once

#include <optional>

#include "generate/grammar.h"

namespace sluice {

class StringCharacters {
 public:
  using Symbol = GrammarBuilder::Symbol;
  enum class Spelling { json, bare };

  StringCharacters(GrammarBuilder& builder, Spelling spelling) : grammar_(builder), spelling_(spelling) {}

  GrammarBuilder& grammar() { return grammar_; }
  // One of the characters, in JSON escaped where it must be.
  Symbol of(const GrammarBuilder::CharacterRanges& ranges, bool negated = false);
  // Any, in JSON also escaped where it need not be. Counts as one wherever length counts.
  Symbol any();

 private:
  Symbol any_of_json();

  GrammarBuilder& grammar_;
  Spelling spelling_;
  std::optional<Symbol> any_;
};

}  // namespace sluice
