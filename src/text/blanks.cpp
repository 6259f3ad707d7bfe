// See blanks.h.
#include "text/blanks.h"

#include "text/utf8.h"

namespace sluice {

bool is_python_space(char32_t character) {
  return (character >= 0x09 && character <= 0x0d) || (character >= 0x1c && character <= 0x20) || character == 0x85 ||
         character == 0xa0 || character == 0x1680 || (character >= 0x2000 && character <= 0x200a) ||
         character == 0x2028 || character == 0x2029 || character == 0x202f || character == 0x205f ||
         character == 0x3000;
}

std::string_view stripped(std::string_view text) {
  while (!text.empty()) {
    const Utf8Step first = utf8_step(text);
    if (first.kind != Utf8::character || !is_python_space(first.value)) break;
    text.remove_prefix(first.bytes);
  }
  while (!text.empty()) {
    std::size_t begin = text.size() - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xc0u) == 0x80) --begin;
    const Utf8Step last = utf8_step(text.substr(begin));
    if (last.kind != Utf8::character || !is_python_space(last.value)) break;
    text.remove_suffix(text.size() - begin);
  }
  return text;
}

}  // namespace sluice
