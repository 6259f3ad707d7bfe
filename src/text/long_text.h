// Cuts very long text before it is split into pieces, exactly as the release does (spec section 5.4).
//
// Text is cut into slices of a number of characters, and each slice again wherever a run of whitespace or of
// non-whitespace characters (Python's str.isspace) gets too long. Every part is then encoded on its own. Ids of long
// blobs depend on these cuts, so they are part of the tokenizer, not an optimisation.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/function_ref.h"
#include "base/result.h"

namespace sluice {

struct LongTextRule {
  std::size_t slice = 400'000;  // characters (code points)
  std::size_t run = 25'000;     // of one kind in a row
};

// Calls `part` for each part in order; together they are the text. Stops at the first error. Requires: well-formed
// UTF-8.
Result<> cut_long_text(std::string_view text, const LongTextRule& rule,
                       FunctionRef<Result<>(std::string_view part)> part);

}  // namespace sluice
