// The alphabet in which tokenizer.json spells bytes: every byte is one printable character (GPT-2's table).
//
// Bytes 33-126, 161-172 and 174-255 are the characters of Latin-1; the other 68, in rising order, are U+0100 and on.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice {

// The bytes that `spelling` stands for; nothing if a character is not of the alphabet. Requires: well-formed UTF-8.
std::optional<std::string> read_byte_alphabet(std::string_view spelling);

// How `bytes` are spelled.
std::string write_byte_alphabet(std::string_view bytes);

}  // namespace sluice
