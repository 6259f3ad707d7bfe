// See memory_nodes.h. Sources: numa(3), mbind(2), get_mempolicy(2).
#include "io/memory_nodes.h"

#include <numa.h>
#include <numaif.h>

#include <cerrno>
#include <memory>
#include <system_error>

namespace sluice {

namespace {

using NodeMask = std::unique_ptr<::bitmask, void (*)(::bitmask*)>;

std::string policy_name(int mode) {
  switch (mode) {
    case MPOL_PREFERRED:
      return "preferred";
    case MPOL_BIND:
      return "bind";
    case MPOL_INTERLEAVE:
      return "interleave";
    default:
      return "of its own";
  }
}

}  // namespace

MemoryNodes memory_nodes() {
  constexpr int kLocal = 4;  // MPOL_LOCAL, which older headers lack: as if nothing had been said
  MemoryNodes found;
  if (::numa_available() < 0) {
    found.unknown = "the system does not tell";
    return found;
  }
  const NodeMask allowed(::numa_get_mems_allowed(), ::numa_bitmask_free);
  for (int node = 0; allowed != nullptr && node <= ::numa_max_node(); ++node)
    if (::numa_bitmask_isbitset(allowed.get(), static_cast<unsigned>(node)) != 0 &&
        ::numa_node_size64(node, nullptr) > 0)
      found.ids.push_back(node);
  if (found.ids.empty()) found.unknown = "the system does not tell";
  int mode = MPOL_DEFAULT;
  if (::get_mempolicy(&mode, nullptr, 0, nullptr, 0) == 0 && mode != MPOL_DEFAULT && mode != kLocal)
    found.decided = policy_name(mode);
  return found;
}

std::string interleave(std::span<std::byte> memory, std::span<const int> nodes) {
  const NodeMask mask(::numa_allocate_nodemask(), ::numa_bitmask_free);
  if (mask == nullptr) return std::generic_category().message(ENOMEM);
  for (const int node : nodes) ::numa_bitmask_setbit(mask.get(), static_cast<unsigned>(node));
  // The kernel takes one bit less than it is told of.
  if (::mbind(memory.data(), memory.size(), MPOL_INTERLEAVE, mask->maskp, mask->size + 1, 0) == 0) return "";
  return std::generic_category().message(errno);
}

}  // namespace sluice
