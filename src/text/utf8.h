// UTF-8, one character at a time (Unicode 15, section 3.9, tables 3-6 and 3-7).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice {

enum class Utf8 {
  character,   // a well-formed character
  incomplete,  // the text ends inside a character that is well-formed so far
  invalid,     // bytes that begin no character, or whose character breaks off
};

struct Utf8Step {
  Utf8 kind = Utf8::incomplete;
  std::size_t bytes = 0;  // of the character, of what is there of it, or of the invalid run: a "maximal subpart"
  char32_t value = 0;     // of a character
};

// The character at the start of `text`. Surrogates, overlong forms and values above U+10FFFF are invalid.
// Requires: text is not empty.
Utf8Step utf8_step(std::string_view text);

// Appends a character. Requires: a Unicode scalar value.
void append_utf8(char32_t value, std::string& text);

// The offset of the first byte that belongs to no well-formed character, or npos if there is none.
std::size_t find_invalid_utf8(std::string_view text);

// bad_input that names the first such byte.
Result<> require_utf8(std::string_view text);

}  // namespace sluice
