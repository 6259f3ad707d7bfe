// Whitespace as Python's str.isspace and str.strip know it: what releases that are written in Python cut and strip by.
#pragma once

#include <string_view>

namespace sluice {

// Unlike Unicode's White_Space, U+001C..U+001F belong to it.
bool is_python_space(char32_t character);

// Without whitespace at both ends. Requires: well-formed UTF-8.
std::string_view stripped(std::string_view text);

}  // namespace sluice
