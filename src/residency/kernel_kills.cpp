// See kernel_kills.h. Sources: Linux, Documentation/admin-guide/cgroup-v2.rst (memory.events: oom_kill, with all groups
// below), cgroup-v1/memory.rst (memory.oom_control), /proc/vmstat (oom_kill).
#include "residency/kernel_kills.h"

#include <string_view>

#include "base/text_file.h"
#include "residency/kernel_text.h"

namespace sluice {

namespace {

std::optional<std::uint64_t> count_in(const std::string& path) {
  return number_of(read_text_file(path).value_or(""), "oom_kill");
}

// The file of the group at `path`, or of the nearest one above it that counts.
std::string counting_file(const std::string& groups, const std::string& mount, std::string path, const char* name) {
  while (true) {
    const std::string file = mount + path + "/" + name;
    if (count_in(groups + file)) return file;
    const std::size_t slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos) return "";
    path.resize(slash);
  }
}

}  // namespace

KernelKills kernel_kills(const MemoryFolders& folders) {
  KernelKills kills;
  kills.of_system = count_in(folders.proc + "/vmstat");
  for (const ControlGroup& group : control_groups(read_text_file(folders.proc + "/self/cgroup").value_or(""))) {
    if (!kills.group_file.empty()) break;
    if (group.version == 2) {
      kills.group_file = counting_file(folders.cgroups, "", group.path, "memory.events");
      if (kills.group_file.empty())
        kills.group_file = counting_file(folders.cgroups, "/unified", group.path, "memory.events");
    } else {
      kills.group_file = counting_file(folders.cgroups, "/memory", group.path, "memory.oom_control");
    }
  }
  if (!kills.group_file.empty()) kills.of_group = count_in(folders.cgroups + kills.group_file);
  return kills;
}

bool killed_since(const KernelKills& before, const MemoryFolders& folders) {
  const auto risen = [](std::optional<std::uint64_t> then, std::optional<std::uint64_t> now) {
    return then && now && *now > *then;
  };
  if (before.of_group && !before.group_file.empty())
    if (const auto now = count_in(folders.cgroups + before.group_file)) return risen(before.of_group, now);
  return risen(before.of_system, count_in(folders.proc + "/vmstat"));
}

}  // namespace sluice
