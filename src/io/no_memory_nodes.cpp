// In place of memory_nodes.cpp where the build has no libnuma. See memory_nodes.h.
#include "io/memory_nodes.h"

namespace sluice {

MemoryNodes memory_nodes() { return {{}, "this program was built without libnuma", ""}; }

std::string interleave(std::span<std::byte> /*memory*/, std::span<const int> /*nodes*/) {
  return memory_nodes().unknown;
}

}  // namespace sluice
