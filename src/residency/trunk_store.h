// The walk: every always-active block, in the order a token visits them, again and again.
//
// Some steps are pinned in memory; the others pass through a ring of bytes that is read ahead of the walker.
// Steps differ in size (Kimi K3: 23 MB to 528 MB), so the ring holds runs of bytes, not equal slots.
// Called by the engine thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/cancel.h"
#include "checkpoint/block.h"
#include "io/read_queue.h"
#include "residency/lease.h"
#include "residency/unpack_block.h"

namespace sluice {

struct TrunkStats {
  std::uint64_t bytes_read = 0;
  double exposed_seconds = 0;  // time the walker waited for reads
  double unpack_seconds = 0;   // time it waited for compressed tensors to be unpacked
};

class TrunkStore {
 public:
  virtual ~TrunkStore() = default;
  // The block of this step; waits for its read if it is not there yet. Steps are acquired in rising order, and after
  // the last one the walk begins anew; a caller may also go to any other step at any time, at the cost of what was read
  // ahead (a draft head goes back to lm_head). Requires: no other trunk
  // lease is held. Fails with the step's label and file if its bytes cannot be read or hold a corrupt scale.
  virtual Result<Lease> acquire(int step) = 0;
  // For whoever has nothing else to do with the store: reads pinned steps that are not there yet, and what the ring has
  // room for before the first walk, while nothing else is to be read; a few at a time, without waiting. The walker
  // takes over what is on its way. False: all is there, or was tried. What it could not read is read again when it is
  // needed.
  virtual bool tend() = 0;
  // The block of a step that is pinned and was acquired before, else nothing. Reads nothing, waits for nothing and
  // leaves the walk where it is. Requires: no other trunk lease is held.
  virtual std::optional<Lease> peek(int step) = 0;
  virtual TrunkStats stats() const = 0;
};

struct TrunkSizes {
  std::vector<int> pinned;       // steps that stay resident, ascending
  std::uint64_t ring_bytes = 0;  // at least the largest step that is not pinned; 0 if all are pinned
};

// A step that is read compressed is unpacked when it is acquired: its reads are on their way by then, and so are those
// of the steps behind it. Requires: an unpacker, made for these layouts, if one of them has compressed tensors.
std::unique_ptr<TrunkStore> make_trunk_store(std::vector<BlockSpec> specs, std::vector<BlockLayout> layouts,
                                             TrunkSizes sizes, ReadQueue& queue,
                                             std::unique_ptr<BlockUnpacker> unpacker = nullptr);

}  // namespace sluice
