// See string_characters.h.
#include "generate/string_characters.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice {

using Symbol = StringCharacters::Symbol;
using Sequence = GrammarBuilder::Sequence;

Symbol StringCharacters::any() {
  if (!any_) any_ = spelling_ == Spelling::bare ? grammar_.characters({}, true) : any_of_json();
  return *any_;
}

Symbol StringCharacters::any_of_json() {
  const Symbol plain = grammar_.characters({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}}, true);
  const Symbol hex = grammar_.characters({{'0', '9'}, {'a', 'f'}, {'A', 'F'}});
  const Symbol no_d = grammar_.characters({{'0', '9'}, {'a', 'c'}, {'A', 'C'}, {'e', 'f'}, {'E', 'F'}});
  const Symbol d = grammar_.characters({{'d', 'd'}, {'D', 'D'}});
  const Symbol high = grammar_.characters({{'8', '9'}, {'a', 'b'}, {'A', 'B'}});
  const Symbol low = grammar_.characters({{'c', 'f'}, {'C', 'F'}});
  const Symbol short_escape = grammar_.characters(
      {{'"', '"'}, {'\\', '\\'}, {'/', '/'}, {'b', 'b'}, {'f', 'f'}, {'n', 'n'}, {'r', 'r'}, {'t', 't'}});
  const Symbol escape = grammar_.choice(
      {{short_escape},
       grammar_.literal("u") + Sequence{no_d, hex, hex, hex},
       grammar_.literal("u") + Sequence{d, grammar_.characters({{'0', '7'}}), hex, hex},
       grammar_.literal("u") + Sequence{d, high, hex, hex} + grammar_.literal("\\u") + Sequence{d, low, hex, hex}});
  return grammar_.choice({{plain}, grammar_.literal("\\") + Sequence{escape}});
}

Symbol StringCharacters::of(const GrammarBuilder::CharacterRanges& ranges, bool negated) {
  if (spelling_ == Spelling::bare) return grammar_.characters(ranges, negated);
  const auto holds = [&](char32_t letter) {
    return negated != std::ranges::any_of(
                          ranges, [&](const auto& range) { return range.first <= letter && letter <= range.second; });
  };
  GrammarBuilder::CharacterRanges shut_out = {{0, 0x1F}, {'"', '"'}, {'\\', '\\'}};
  GrammarBuilder::CharacterRanges plain;
  if (negated) {
    shut_out.insert(shut_out.end(), ranges.begin(), ranges.end());
  } else {
    for (const auto& [first, last] : ranges)  // without those that must be escaped
      for (const auto& [from, to] : {std::pair<char32_t, char32_t>{0x20, 0x21}, {0x23, 0x5B}, {0x5D, 0x10FFFF}})
        if (std::max(first, from) <= std::min(last, to)) plain.emplace_back(std::max(first, from), std::min(last, to));
  }
  std::vector<Sequence> alternatives = {
      {negated ? grammar_.characters(shut_out, true) : grammar_.characters(plain, false)}};
  constexpr std::pair<char32_t, const char*> kShort[] = {{'"', "\\\""}, {'\\', "\\\\"}, {'\b', "\\b"}, {'\f', "\\f"},
                                                         {'\n', "\\n"}, {'\r', "\\r"},  {'\t', "\\t"}};
  for (const auto& [letter, escape] : kShort)
    if (holds(letter)) alternatives.push_back(grammar_.literal(escape));
  for (char32_t letter = 0; letter < 0x20; ++letter)
    if (holds(letter) &&
        std::ranges::find(kShort, letter, &std::pair<char32_t, const char*>::first) == std::end(kShort))
      alternatives.push_back(grammar_.literal(fmt::format("\\u{:04x}", static_cast<unsigned>(letter))));
  return grammar_.choice(std::move(alternatives));
}

}  // namespace sluice
