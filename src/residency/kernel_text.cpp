// See kernel_text.h.
#include "residency/kernel_text.h"

#include <algorithm>
#include <charconv>

namespace sluice {

namespace {

// Takes the first line off.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

std::optional<std::uint64_t> leading_number(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{}) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> number_of(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    if (line.starts_with(':')) line.remove_prefix(1);
    if (line.starts_with(' ') || line.starts_with('\t')) return leading_number(line);
  }
  return std::nullopt;
}

std::vector<ControlGroup> control_groups(std::string_view text) {
  std::vector<ControlGroup> groups;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (controllers.empty())
      groups.push_back({2, std::string(line.substr(second + 1))});
    else if (controllers.find("memory") != std::string_view::npos)
      groups.push_back({1, std::string(line.substr(second + 1))});
  }
  return groups;
}

}  // namespace sluice
