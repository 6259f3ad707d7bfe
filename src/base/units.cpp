// See units.h.
#include "base/units.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>

namespace sluice {

Result<std::uint64_t> parse_size(std::string_view text, std::string_view flag) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, number);
  std::string unit(rest, end);
  for (char& letter : unit) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  double factor = 0;
  if (unit.empty() || unit == "B") factor = 1;
  constexpr std::string_view kLetters = "KMGT";
  for (std::size_t power = 0; power < kLetters.size(); ++power) {
    const std::string letter(1, kLetters[power]);
    if (unit == letter || unit == letter + "B" || unit == letter + "IB")
      factor = std::ldexp(1.0, 10 * static_cast<int>(power + 1));
  }
  const double bytes = number * factor;
  if (problem != std::errc{} || factor == 0 || !(bytes >= 0) || bytes > 1e18)
    return fail(ErrorKind::usage, fmt::format("{}: '{}' is not a size", flag, text),
                "write bytes or a number with K, M, G or T, as in 512M or 16G");
  return static_cast<std::uint64_t>(bytes);
}

std::string format_bytes(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  int unit = 0;
  while (value >= 1024 && unit < 5) value /= 1024, ++unit;
  return fmt::format("{:.{}f} {}", value, value < 10 ? 2 : value < 100 ? 1 : 0, units[unit]);
}

std::string format_seconds(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.{}f} ms", seconds * 1e3, seconds < 0.01 ? 1 : 0);
  if (seconds < 60) return fmt::format("{:.2f} s", seconds);
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {:02d} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02d} min", whole / 3600, whole % 3600 / 60);
}

std::string format_rate(double bytes_per_second) {
  return format_bytes(static_cast<std::uint64_t>(bytes_per_second > 0 ? bytes_per_second : 0)) + "/s";
}

std::string format_count(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (auto place = static_cast<std::ptrdiff_t>(digits.size()) - 3; place > 0; place -= 3)
    digits.insert(static_cast<std::size_t>(place), 1, ',');
  return digits;
}

}  // namespace sluice
