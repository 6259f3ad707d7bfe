// How many CPUs' worth of time a cgroup grants this process. Linux, cgroup v2 and v1; read once, no locks.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice {

// The smallest quota on the way from the process's group up to the root, in CPUs (1.5 = 150 ms per 100 ms), or nothing
// where none is set. `groups` is the text of /proc/self/cgroup, `mount` where the hierarchies are: "/sys/fs/cgroup".
std::optional<double> cpu_quota(std::string_view groups, const std::string& mount);

}  // namespace sluice
