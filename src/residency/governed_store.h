// An expert store that gives way when the system runs short of memory.
//
// It looks at what is available a few times a second at most (MemoryGovernor::pause), between the requests of two
// layers and whenever it is tended: a look reads files of the kernel's. What it does changes how much is read from disk
// and nothing else.
#pragma once

#include <cstdint>
#include <memory>

#include "residency/machine.h"
#include "residency/memory_governor.h"
#include "residency/resizable_store.h"

namespace sluice {

struct GovernorStats {
  int slots = 0, planned_slots = 0;    // now, and as the plan says
  std::uint64_t times = 0;             // that the cache shrank
  std::uint64_t given_back_bytes = 0;  // then, all together
};

class GovernedStore : public ExpertStore {
 public:
  virtual GovernorStats governor_stats() const = 0;
};

// Where the system does not tell of its memory nothing is governed. Never below cache.fewest slots.
std::unique_ptr<GovernedStore> govern(std::unique_ptr<ResizableStore> store, GovernedCache cache,
                                      const MemoryFolders& folders);

}  // namespace sluice
