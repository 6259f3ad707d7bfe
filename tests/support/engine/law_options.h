// Options of a law that is not about the drive.
#pragma once

#include "engine/engine.h"

namespace sluice::test {

// Files come through the page cache: a law opens engines by the hundred, and their small reads would take half of its
// time. What reads as a user's run does: Contract.AnyWayOfReading and AnyLayoutOnDisk, LayoutLaw, ReadAheadLaw, and the
// tests of the program.
inline EngineOptions law_options() {
  EngineOptions options;
  options.io = IoMode::buffered;
  return options;
}

}  // namespace sluice::test
