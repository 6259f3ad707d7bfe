// A regular expression as tokenizer.json writes it, turned into PCRE2's notation, or refused.
//
// Those files are written for Oniguruma. Both engines read most expressions alike and some differently without a word:
// \s is White_Space there and a character more here, [a&&b] is an intersection there and five characters here. So an
// expression is read construct by construct: what means the same passes, \s and \S are spelled out, anything else is
// refused by name. Known: letters, escapes of punctuation and \r \n \t, \s \S, \p{..} of general categories, classes
// with ranges, groups (?:..) (?i:..) (?!..) (?=..) and (..), |, and the greedy ? * + {n} {n,} {n,m}.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice {

// unsupported: names the construct and its offset.
Result<std::string> to_pcre2(std::string_view regex);

}  // namespace sluice
