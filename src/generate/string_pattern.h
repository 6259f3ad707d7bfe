// A regular expression of JSON Schema (ECMA-262) as rules for the text of a string.
//
// Known: literals and their escapes, . \d \w \s and their opposites, classes, groups, |, * + ? {n} {n,} {n,m}, ^ at the
// beginning and $ at the end of the whole or of an alternative of the whole. Anything else is refused by name.
#pragma once

#include <optional>
#include <string_view>

#include "generate/string_characters.h"

namespace sluice {

// As JSON Schema has it, a pattern without anchors is looked for anywhere in the string. bad_input says what is not
// known and where.
Result<GrammarBuilder::Symbol> string_pattern(std::string_view pattern, StringCharacters& characters);

// What a `format` of JSON Schema is as a pattern; nothing if it is not known.
std::optional<std::string_view> pattern_of_format(std::string_view format);

}  // namespace sluice
