// See nfc.h.
//
// The library's own loop over a text swaps neighbours until marks are in order, which takes hours for a megabyte of
// marks; so the steps are called one by one and the sorting is ours (Unicode 15, section 3.11).
#include "text/nfc.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <vector>

#include "text/utf8.h"

namespace sluice {

namespace {

int combining_class(utf8proc_int32_t character) { return utf8proc_get_property(character)->combining_class; }

// Sorts every run of marks by their classes; marks of one class stay in order.
void order_marks(std::vector<utf8proc_int32_t>& text) {
  for (auto at = text.begin(); at != text.end();) {
    const auto end = std::find_if(at, text.end(), [](auto character) { return combining_class(character) == 0; });
    std::ranges::stable_sort(at, end, {}, combining_class);
    at = end == text.end() ? end : end + 1;
  }
}

}  // namespace

bool is_plainly_nfc(std::string_view text) {
  return std::ranges::all_of(text, [](char byte) { return static_cast<unsigned char>(byte) < 0xcc; });
}

Result<std::string> to_nfc(std::string_view text) {
  const auto refused = [](utf8proc_ssize_t problem) {
    return fail(ErrorKind::bug, fmt::format("normal form C: {}", utf8proc_errmsg(problem)));
  };
  std::vector<utf8proc_int32_t> characters;
  characters.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text.substr(at));
    utf8proc_int32_t parts[8];
    int boundary = 0;
    const utf8proc_ssize_t count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(step.value), parts, 8, UTF8PROC_DECOMPOSE, &boundary);
    if (count < 0 || count > 8) return refused(count);
    characters.insert(characters.end(), parts, parts + count);
    at += step.bytes;
  }
  order_marks(characters);
  const auto option = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  const utf8proc_ssize_t length =
      utf8proc_normalize_utf32(characters.data(), static_cast<utf8proc_ssize_t>(characters.size()), option);
  if (length < 0) return refused(length);
  characters.resize(static_cast<std::size_t>(length));
  std::string composed;
  composed.reserve(text.size());
  for (const utf8proc_int32_t character : characters) append_utf8(static_cast<char32_t>(character), composed);
  return composed;
}

}  // namespace sluice
