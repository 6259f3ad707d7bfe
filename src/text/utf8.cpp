// See utf8.h.
#include "text/utf8.h"

#include <fmt/format.h>

#include "base/check.h"

namespace sluice {

Utf8Step utf8_step(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {Utf8::character, 1, first};
  if (first < 0xc2 || first > 0xf4) return {Utf8::invalid, 1, 0};
  const std::size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  // The second byte is confined further after these lead bytes: no overlong form, surrogate, or value too high.
  const unsigned low = first == 0xe0 ? 0xa0u : first == 0xf0 ? 0x90u : 0x80u;
  const unsigned high = first == 0xed ? 0x9fu : first == 0xf4 ? 0x8fu : 0xbfu;
  char32_t value = first & (0x7fu >> length);
  for (std::size_t at = 1; at < length; ++at) {
    if (at == text.size()) return {Utf8::incomplete, at, 0};
    if (byte(at) < (at == 1 ? low : 0x80u) || byte(at) > (at == 1 ? high : 0xbfu)) return {Utf8::invalid, at, 0};
    value = value << 6 | (byte(at) & 0x3fu);
  }
  return {Utf8::character, length, value};
}

void append_utf8(char32_t value, std::string& text) {
  SLUICE_DCHECK(value <= 0x10ffff && (value < 0xd800 || value > 0xdfff));
  const auto tail = [&](int shift) { text.push_back(static_cast<char>(0x80u | (value >> shift & 0x3fu))); };
  if (value < 0x80) {
    text.push_back(static_cast<char>(value));
  } else if (value < 0x800) {
    text.push_back(static_cast<char>(0xc0u | value >> 6));
    tail(0);
  } else if (value < 0x10000) {
    text.push_back(static_cast<char>(0xe0u | value >> 12));
    tail(6), tail(0);
  } else {
    text.push_back(static_cast<char>(0xf0u | value >> 18));
    tail(12), tail(6), tail(0);
  }
}

std::size_t find_invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text.substr(at));
    if (step.kind != Utf8::character) return at;
    at += step.bytes;
  }
  return std::string_view::npos;
}

Result<> require_utf8(std::string_view text) {
  const std::size_t at = find_invalid_utf8(text);
  if (at == std::string_view::npos) return {};
  return fail(ErrorKind::bad_input,
              fmt::format("the text is not UTF-8: byte {} (0x{:02x}) begins no whole character", at,
                          static_cast<unsigned char>(text[at])),
              "convert it to UTF-8 first");
}

}  // namespace sluice
