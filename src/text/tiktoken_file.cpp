// See tiktoken_file.h.
#include "text/tiktoken_file.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <optional>

#include "base/text_file.h"

namespace sluice {

namespace {

constexpr std::size_t kLongestLine = 64 * 1024;  // the longest token of a released vocabulary has 128 bytes

// The value of a base64 digit, or 64 and above for anything else.
constexpr std::array<unsigned char, 256> kDigits = [] {
  std::array<unsigned char, 256> digits{};
  digits.fill(255);
  unsigned char value = 0;
  for (const char* range : {"AZ", "az", "09", "++", "//"})
    for (char digit = range[0]; digit <= range[1]; ++digit) digits[static_cast<unsigned char>(digit)] = value++;
  return digits;
}();

// Padded base64 of RFC 4648; nothing if it is not that, or if the unused bits of the last digit are set.
std::optional<std::string> decode_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  text.remove_suffix(padding);
  std::string bytes;
  std::uint32_t bits = 0;
  int held = 0;  // how many bits of `bits` are not written yet
  for (const char digit : text) {
    const unsigned value = kDigits[static_cast<unsigned char>(digit)];
    if (value >= 64) return std::nullopt;
    bits = bits << 6 | value;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes.push_back(static_cast<char>(bits >> held & 0xffu));
  }
  if ((bits & ((1u << held) - 1)) != 0) return std::nullopt;
  return bytes;
}

// Adds the entry of one line; the answer is what is wrong with it, or empty.
std::string add_line(std::string_view line, Vocabulary& entries) {
  if (line.size() > kLongestLine) return fmt::format("is longer than {} bytes", kLongestLine);
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return "is not base64, a space and a rank";
  const std::optional<std::string> bytes = decode_base64(line.substr(0, space));
  if (!bytes) return fmt::format("holds bad base64 '{}'", line.substr(0, std::min<std::size_t>(space, 40)));
  const std::string_view digits = line.substr(space + 1);
  int rank = -1;
  const auto [rest, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  if (problem != std::errc{} || rest != digits.data() + digits.size() || digits.front() == '-')
    return fmt::format("has no rank but '{}'", digits.substr(0, 40));
  if (rank != entries.size()) return fmt::format("has rank {} where {} is due", rank, entries.size());
  if (const int known = entries.find(*bytes); known >= 0) return fmt::format("repeats the entry of rank {}", known);
  if (!entries.add(*bytes)) return "is one entry too many";
  return {};
}

}  // namespace

Result<Vocabulary> read_tiktoken_file(const std::string& path) {
  constexpr const char* kFetchAgain = "the file is damaged: fetch it again";
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return tl::unexpected<Error>(
        unreadable(path, "a Kimi K3 checkpoint has its vocabulary in tiktoken.model beside config.json"));
  Vocabulary entries;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    if (const std::string problem = add_line(line, entries); !problem.empty())
      return fail(ErrorKind::bad_input, fmt::format("{}: line {} {}", path, number, problem), kFetchAgain);
  }
  if (file.bad()) return fail(ErrorKind::bad_input, fmt::format("cannot read {} to its end", path));
  for (int value = 0; value < 256; ++value) {
    const char byte = static_cast<char>(value);
    if (entries.find({&byte, 1}) < 0)
      return fail(ErrorKind::bad_input, fmt::format("{}: no entry is the single byte 0x{:02x}", path, value),
                  kFetchAgain);
  }
  entries.shrink();
  return entries;
}

}  // namespace sluice
