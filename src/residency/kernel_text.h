// The kernel's small text files about memory, taken apart: lines of a name and a number, and the groups of a process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// The number after `name` at the beginning of a line: "name: 12 kB" or "name 12".
std::optional<std::uint64_t> number_of(std::string_view text, std::string_view name);
// The number that `text` begins with, after blanks. Nothing for "max" and the like.
std::optional<std::uint64_t> leading_number(std::string_view text);

// A group of the process that limits memory, of a text like /proc/self/cgroup: "0::/path" is version 2,
// "4:memory:/path" version 1; those that limit other things are left out.
struct ControlGroup {
  int version = 2;
  std::string path;  // begins with /; the root is "" or "/"
};
std::vector<ControlGroup> control_groups(std::string_view text);

}  // namespace sluice
