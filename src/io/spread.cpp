// What of memory_nodes.h does not depend on how the program was built.
#include "io/memory_nodes.h"

namespace sluice {

void spread(std::span<std::byte> memory, const MemoryNodes& nodes, Interleave bind) {
  if (nodes.to_spread_over() && !memory.empty()) bind(memory, nodes.ids);
}

}  // namespace sluice
