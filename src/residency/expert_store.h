// Keeps recently useful experts in a fixed set of slots and reads the others from disk.
//
// A lease on an expert is the only way to see its weights; a leased or incoming slot is never evicted. Which slot goes
// is the policy's choice and cannot change any result, only how many bytes are read. Called by the engine thread only;
// reads finish on the queue's threads and are handed over through Landings.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "checkpoint/bound.h"
#include "io/read_queue.h"
#include "residency/lease.h"
#include "residency/policy.h"

namespace sluice {

struct ReadyExpert {
  int expert = -1;
  Lease weights;
};

// One layer's experts on their way: residents first, then each as it lands. With few slots a fetch proceeds in waves,
// unnoticed by the caller, as long as leases are given back.
class Fetch {
 public:
  virtual ~Fetch() = default;  // waits for reads still in flight
  // The next expert, or nothing when all have been handed out. Requires: with S slots, fewer than S leases are held.
  // Fails with the expert and file named if its bytes cannot be read or hold a corrupt scale.
  virtual Result<std::optional<ReadyExpert>> next() = 0;
};

struct ExpertStats {
  std::uint64_t requests = 0;  // experts asked for
  std::uint64_t hits = 0;      // found resident
  std::uint64_t begun = 0;     // neither, but their reads had begun when they were asked for
  std::uint64_t bytes_read = 0;
  std::uint64_t preloaded_bytes = 0;   // of these
  std::uint64_t expected = 0;          // reads that began because somebody expected the expert to be asked for
  std::uint64_t expected_rightly = 0;  // of these, it then was
  std::uint64_t surplus_bytes = 0;     // of bytes_read: for the others, of which some were taken back unread
  double exposed_seconds = 0;          // time the caller waited for reads
};

// What begins a preload and carries it on: every call of the store, or `tend` alone, when nobody asks for anything.
enum class PreloadPace { always, when_idle };

class ExpertStore {
 public:
  virtual ~ExpertStore() = default;
  // Distinct experts of one layer, ascending. One fetch at a time.
  virtual std::unique_ptr<Fetch> fetch(int layer, std::span<const ExpertUse> uses) = 0;
  // These experts are what the next fetch of this layer will ask for: reads of the missing ones begin now, as far as
  // there are slots that nobody uses. Hints for layers that follow each other may be given at once; each is used up by
  // its fetch, in order. A fetch of anything else forgets them all. Never waits for a read to come.
  // A hint is the request itself, made early: what stays resident follows from requests and hints alone (unless some
  // are given up half-way), and a hint that turns out wrong costs reads only. Requires: no fetch is under way.
  virtual void hint(int layer, std::span<const ExpertUse> uses) = 0;
  // Reads these experts, the first ones first, while nothing else is to be read: a few at a time, and into empty slots
  // alone, so nothing goes for them. A fetch takes over what is on its way. It ends when the list does or no slot is
  // empty. Replaces an earlier list. Which requests find their experts resident is then a matter of time, so a run
  // whose hits are to follow from its requests alone goes without.
  virtual void preload(std::vector<ExpertKey> experts, PreloadPace pace) = 0;
  // The next fetch of this layer will probably ask for these, the likeliest first: reads of the missing ones begin,
  // behind everything that somebody waits for or knows to be needed, into empty slots and those that the policy gives
  // up, but none of an expert that is named. The fetch takes over what it asks for; of the rest it takes back what has
  // not begun, and what has stays as any other resident. Never waits. What is resident then is a matter of time.
  // Requires: no fetch is under way.
  virtual void expect(int layer, std::span<const int> experts) = 0;
  // For whoever has nothing else to do with the store: carries the preload on without waiting. False: it has ended.
  virtual bool tend() = 0;
  virtual ExpertStats stats() const = 0;
};

// `slot_count` slots in one arena of their own, each of experts.slot_bytes(). Requires: slot_count >= 1. With a slot
// for every expert the policy is let go: it would never be asked, and what it notes costs time at each request. `spec`
// gives the names of an expert's tensors, for errors; may be empty.
std::unique_ptr<ExpertStore> make_expert_store(const ExpertTable& experts, int slot_count,
                                               std::unique_ptr<EvictionPolicy> policy, ReadQueue& queue,
                                               std::function<BlockSpec(int layer, int expert)> spec = {});

}  // namespace sluice
