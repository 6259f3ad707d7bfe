// See byte_alphabet.h.
#include "text/byte_alphabet.h"

#include <array>

#include "text/utf8.h"

namespace sluice {

namespace {

constexpr int kLetters = 256 + 68;  // characters U+0000 .. U+0143

constexpr bool is_itself(int byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
}

constexpr std::array<char32_t, 256> kCharacters = [] {
  std::array<char32_t, 256> characters{};
  char32_t next = 256;
  for (int byte = 0; byte < 256; ++byte)
    characters[static_cast<std::size_t>(byte)] = is_itself(byte) ? static_cast<char32_t>(byte) : next++;
  return characters;
}();

constexpr std::array<int, kLetters> kBytes = [] {
  std::array<int, kLetters> bytes{};
  for (int& byte : bytes) byte = -1;
  for (int byte = 0; byte < 256; ++byte) bytes[kCharacters[static_cast<std::size_t>(byte)]] = byte;
  return bytes;
}();

}  // namespace

std::optional<std::string> read_byte_alphabet(std::string_view spelling) {
  std::string bytes;
  for (std::size_t at = 0; at < spelling.size();) {
    const Utf8Step character = utf8_step(spelling.substr(at));
    if (character.value >= kBytes.size() || kBytes[character.value] < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(kBytes[character.value]));
    at += character.bytes;
  }
  return bytes;
}

std::string write_byte_alphabet(std::string_view bytes) {
  std::string spelling;
  for (const char byte : bytes) append_utf8(kCharacters[static_cast<unsigned char>(byte)], spelling);
  return spelling;
}

}  // namespace sluice
