// Unicode's normal form C: a character that can be written in several ways is written in one.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice {

// Whether all characters are below U+0300, as ASCII and Latin are: then the text is its own form C, for nothing below
// changes or combines with what is before it.
bool is_plainly_nfc(std::string_view text);

// The text in form C, as Unicode's version in the library has it. Time grows as the text does, whatever it holds (a run
// of combining marks is sorted). Requires: well-formed UTF-8.
Result<std::string> to_nfc(std::string_view text);

}  // namespace sluice
