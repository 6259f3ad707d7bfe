// What the kernel says about memory. See machine.h.
//
// A process can be killed for exceeding the limit of any group above it, so every ancestor counts. Memory that a group
// holds as page cache is given back under pressure and counts as available, as in MemAvailable.
#include "residency/machine.h"

#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/out_of_memory.h"
#include "base/text_file.h"
#include "base/thread_pool.h"
#include "residency/kernel_text.h"

namespace sluice {

namespace {

std::string read_text(const std::string& path) { return read_text_file(path).value_or(""); }

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
  std::optional<std::uint64_t> limit = leading_number(read_text(directory + "/" + names.limit));
  const auto throttle =
      names.throttle != nullptr ? leading_number(read_text(directory + "/" + names.throttle)) : std::nullopt;
  if (throttle) limit = std::min(limit.value_or(*throttle), *throttle);
  if (!limit) return;  // "max", or no such group
  const std::uint64_t usage = leading_number(read_text(directory + "/" + names.usage)).value_or(0);
  const std::string stat = read_text(directory + "/memory.stat");
  const std::uint64_t cache =
      number_of(stat, names.inactive_file).value_or(0) + number_of(stat, names.active_file).value_or(0);
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
  machine.total_bytes = number_of(meminfo, "MemTotal").value_or(0) * 1024;
  machine.available_bytes = number_of(meminfo, "MemAvailable").value_or(0) * 1024;
  for (const ControlGroup& group : control_groups(read_text(proc + "/self/cgroup"))) {
    if (group.version == 1) {
      apply_ancestors(machine, cgroups + "/memory", group.path, kVersion1);
      continue;
    }
    apply_ancestors(machine, cgroups, group.path, kVersion2);
    apply_ancestors(machine, cgroups + "/unified", group.path, kVersion2);
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
  if (const AddressSpace addresses = address_space(); addresses.limit_bytes != kNoLimit) {
    machine.total_bytes = std::min(machine.total_bytes, addresses.limit_bytes);
    machine.available_bytes = std::min(machine.available_bytes,
                                       addresses.limit_bytes - std::min(addresses.limit_bytes, addresses.used_bytes));
  }
  machine.cpus = ThreadPool::usable_cpus();
  return machine;
}

std::uint64_t peak_resident_bytes() { return number_of(read_text("/proc/self/status"), "VmHWM").value_or(0) * 1024; }

}  // namespace sluice
