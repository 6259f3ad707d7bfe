// Grammars as text, in the notation of GBNF: name ::= "literal" [class] name (group) | alternative, with * + ? {n,m},
// comments after #. `root` is where a text begins.
#pragma once

#include <string_view>

#include "generate/grammar.h"

namespace sluice {

// The rule `root`. bad_input names the line and what is wrong there.
Result<GrammarBuilder::Symbol> gbnf_rules(std::string_view text, GrammarBuilder& builder);
Result<Grammar> parse_gbnf(std::string_view text);

}  // namespace sluice
