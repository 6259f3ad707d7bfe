// The file `tiktoken.model`: one entry a line, base64 of its bytes, a space, its rank (spec section 5.1).
//
// The rank of an entry is its id, and entries stand in rising rank from 0 without gaps. All 256 single bytes must be
// there, or some text could not be encoded at all; a byte's id is not its value.
#pragma once

#include <string>

#include "base/result.h"
#include "text/vocabulary.h"

namespace sluice {

// A file that breaks a rule is refused by name and line (bad_input).
Result<Vocabulary> read_tiktoken_file(const std::string& path);

}  // namespace sluice
