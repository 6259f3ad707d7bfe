// How often the kernel has killed a process for want of memory, as far as it tells a process like this one.
//
// A process that is killed so cannot say why it ended. Whoever comes later compares the counts of then and now.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "residency/machine.h"

namespace sluice {

struct KernelKills {
  // Of the control group that the process belonged to: the file that counts, below the folder of all groups. Empty:
  // there is none.
  std::string group_file;
  std::optional<std::uint64_t> of_group, of_system;
};

// Of this process's group, and of the system.
KernelKills kernel_kills(const MemoryFolders& folders);

// Whether the kernel has killed since `before`, which may have been counted by another process in another group. The
// group's count decides where it can still be read: it counts every kill in it, whoever lacked the memory. A group that
// is gone with its processes leaves the system's count, which others raise too.
bool killed_since(const KernelKills& before, const MemoryFolders& folders);

}  // namespace sluice
