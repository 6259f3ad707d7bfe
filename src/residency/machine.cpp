// What the kernel says about memory. See machine.h.
//
// A process can be killed for exceeding the limit of any group above it, so every ancestor counts. Memory that a group
// holds as page cache is given back under pressure and counts as available, as in MemAvailable.
#include "residency/machine.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/text_file.h"
#include "base/thread_pool.h"

namespace sluice {

namespace {

std::string read_text(const std::string& path) { return read_text_file(path).value_or(""); }

std::optional<std::uint64_t> to_number(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{}) return std::nullopt;
  return number;
}

// The number after `name` at the beginning of a line: "name: 12 kB" or "name 12".
std::optional<std::uint64_t> field(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    if (line.starts_with(':')) line.remove_prefix(1);
    if (line.starts_with(' ') || line.starts_with('\t')) return to_number(line);
  }
  return std::nullopt;
}

// How one version of cgroups spells its files.
struct Spelling {
  const char* limit;
  const char* throttle;  // above it the group is slowed down until it gives memory back; null where there is none
  const char* usage;
  const char* inactive_file;
  const char* active_file;
};
constexpr Spelling kVersion2 = {"memory.max", "memory.high", "memory.current", "inactive_file", "active_file"};
constexpr Spelling kVersion1 = {"memory.limit_in_bytes", nullptr, "memory.usage_in_bytes", "total_inactive_file",
                                "total_active_file"};

void apply_group(Machine& machine, const std::string& directory, const Spelling& names) {
  std::optional<std::uint64_t> limit = to_number(read_text(directory + "/" + names.limit));
  const auto throttle =
      names.throttle != nullptr ? to_number(read_text(directory + "/" + names.throttle)) : std::nullopt;
  if (throttle) limit = std::min(limit.value_or(*throttle), *throttle);
  if (!limit) return;  // "max", or no such group
  const std::uint64_t usage = to_number(read_text(directory + "/" + names.usage)).value_or(0);
  const std::string stat = read_text(directory + "/memory.stat");
  const std::uint64_t cache = field(stat, names.inactive_file).value_or(0) + field(stat, names.active_file).value_or(0);
  const std::uint64_t used = usage - std::min(usage, cache);
  machine.total_bytes = std::min(machine.total_bytes, *limit);
  machine.available_bytes = std::min(machine.available_bytes, *limit - std::min(*limit, used));
}

// The group at `path` and all above it, below the mount point.
void apply_ancestors(Machine& machine, const std::string& mount, std::string path, const Spelling& names) {
  while (true) {
    apply_group(machine, mount + path, names);
    const std::size_t slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos) return;
    path.resize(slash);
  }
}

}  // namespace

Machine memory_of_machine(const std::string& proc, const std::string& cgroups) {
  Machine machine;
  const std::string meminfo = read_text(proc + "/meminfo");
  machine.total_bytes = field(meminfo, "MemTotal").value_or(0) * 1024;
  machine.available_bytes = field(meminfo, "MemAvailable").value_or(0) * 1024;
  // Lines of /proc/self/cgroup: "0::/path" (version 2), "4:memory:/path" (version 1).
  std::string_view groups;
  const std::string text = read_text(proc + "/self/cgroup");
  for (groups = text; !groups.empty();) {
    const std::size_t end = std::min(groups.find('\n'), groups.size());
    const std::string_view line = groups.substr(0, end);
    groups.remove_prefix(std::min(end + 1, groups.size()));
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string path(line.substr(second + 1));
    if (controllers.empty()) {
      apply_ancestors(machine, cgroups, path, kVersion2);
      apply_ancestors(machine, cgroups + "/unified", path, kVersion2);
    } else if (controllers.find("memory") != std::string_view::npos) {
      apply_ancestors(machine, cgroups + "/memory", path, kVersion1);
    }
  }
  return machine;
}

Machine this_machine() {
  Machine machine = memory_of_machine("/proc", "/sys/fs/cgroup");
  if (machine.total_bytes == 0) {  // no /proc
    const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0)
      machine.total_bytes = machine.available_bytes =
          static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
  }
  machine.cpus = ThreadPool::usable_cpus();
  return machine;
}

std::uint64_t peak_resident_bytes() { return field(read_text("/proc/self/status"), "VmHWM").value_or(0) * 1024; }

}  // namespace sluice
