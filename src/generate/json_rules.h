// JSON as rules of a grammar: strings, numbers in a range, and any value.
//
// What may be written is a part of JSON that every reader understands alike: no lone surrogates, no number beyond
// double, blanks only where people and models put them and never without end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "generate/string_characters.h"

namespace sluice {

class JsonRules {
 public:
  using Symbol = GrammarBuilder::Symbol;
  using Sequence = GrammarBuilder::Sequence;

  explicit JsonRules(GrammarBuilder& builder)
      : grammar_(builder), characters_(builder, StringCharacters::Spelling::json) {}

  GrammarBuilder& grammar() { return grammar_; }
  StringCharacters& characters() { return characters_; }  // between the quotes
  Symbol value();                                         // any
  Symbol object();                                        // any
  Symbol string();                                        // any, with its quotes
  Symbol number();
  // A string that is none of `names`; without escapes.
  Symbol other_name(std::vector<std::string> names);
  // Both ends belong to it; requires least <= most, and both within +-kLargest.
  Symbol integer(std::int64_t least, std::int64_t most);
  struct Bounds {
    std::optional<double> least, most;
    bool above_least = false, below_most = false;  // the ends themselves do not belong to it
  };
  // Nothing if the range holds no integer and does not reach from one to the next.
  std::optional<Symbol> number_within(const Bounds& bounds, bool integers_only);

  Symbol blank();        // after { [ , and before } ]
  Symbol after_colon();  // at most one
  Sequence text(std::string_view literal) { return grammar_.literal(literal); }

  static constexpr std::int64_t kLargest = 9'999'999'999'999'999;  // in size; doubles hold almost all of them

 private:
  Symbol kept(std::optional<Symbol>& place, Symbol (JsonRules::*make)());
  Symbol make_value();
  Symbol make_string();
  Symbol make_number();
  Symbol make_blank();
  Symbol make_after_colon();
  Symbol digit(char first, char last);
  Sequence any_digits(std::size_t count);
  Symbol natural(std::uint64_t least, std::uint64_t most);
  Symbol digits_from(const std::string& least);
  Symbol digits_to(const std::string& most);
  Symbol digits_between(const std::string& least, const std::string& most);
  Symbol name_past(const std::vector<std::u32string>& names, std::size_t length);

  GrammarBuilder& grammar_;
  StringCharacters characters_;
  std::optional<Symbol> value_, object_, array_, string_, number_, blank_, after_colon_;
};

}  // namespace sluice
