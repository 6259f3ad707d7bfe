// A read queue that lets nothing land before it was checked, as far as something is left to check.
//
// Wraps any other queue. Requests that need no check go straight through; the others are checked by a thread of the
// wrapper, so that nobody who computes waits for it twice. Stores know nothing of it: a failed check is a failed read.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/result.h"
#include "io/read_queue.h"

namespace sluice {

class ReadCheck {
 public:
  virtual ~ReadCheck() = default;
  // True if one of these runs has not been checked yet. Any thread.
  virtual bool due(std::span<const Extent> extents) const = 0;
  // What was read into a slot, each extent at its place: runs that were not checked yet, and those that hold a piece
  // of `unproven`. One thread at a time.
  virtual Result<> check(std::span<const Extent> extents, const std::byte* slot, const Files& files,
                         std::span<const SourcePiece> unproven) = 0;
};

// Fails if the system gives no thread. Slots and landings as for the queue inside. If `sources`, from which that one
// reads, keep proofs, whatever a source brings for the first time is checked; what fails and came from a mirror is read
// again from source 0, and if that is right the mirror is taken out.
Result<std::unique_ptr<ReadQueue>> make_checked_queue(std::unique_ptr<ReadQueue> inside,
                                                      std::unique_ptr<ReadCheck> check, ReadSources* sources = nullptr);

}  // namespace sluice
