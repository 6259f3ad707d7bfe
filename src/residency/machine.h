// The machine as the plan sees it, as one value that tests can fake.
#pragma once

#include <cstdint>
#include <string>

namespace sluice {

struct Machine {
  std::uint64_t total_bytes = 0;      // RAM
  std::uint64_t available_bytes = 0;  // what this process could still get: other processes and cgroup limits considered
  int cpus = 1;                       // this process may use
  // Measured rates; 0: unknown.
  double disk_bytes_per_second = 0;
  double memory_bytes_per_second = 0;
  double multiply_bytes_per_second = 0;  // stored weights that the kernels multiply with
};

// Where the system tells of memory: as /proc and as /sys/fs/cgroup. Tests have files of their own.
struct MemoryFolders {
  std::string proc = "/proc", cgroups = "/sys/fs/cgroup";
};

// Reads /proc/meminfo, cgroup v2 and v1 limits, ulimit -v and the affinity mask. Rates stay 0.
Machine this_machine();

// Its memory, from files: `proc` is as /proc, `cgroups` as /sys/fs/cgroup. Files that are absent limit nothing.
Machine memory_of_machine(const std::string& proc, const std::string& cgroups);

// Peak resident bytes of this process so far (VmHWM), 0 if unknown.
std::uint64_t peak_resident_bytes();

}  // namespace sluice
