// Runs a routing trace through a cache policy and counts, without weights and without a clock.
//
// The policies are those of the engine, the same objects. Two ways to count room:
//   slots  exactly what the expert store does with so many slots: its hits, request by request. A run and a replay of
//          its trace agree to the last miss.
//   bytes  the line in use does not count: a request is a hit if its expert was resident when the line began; then all
//          experts of the line are resident, and the policy evicts, newcomers too if it likes, until the rest fits. So
//          experts of different sizes share the room, and an engine with S slots, k of them for the line in hand,
//          compares with S - k.
// Belady's bound evicts what is used again last (Belady 1966): it knows the future, nothing that does not can do
// better.
#pragma once

#include <cstdint>
#include <memory>

#include "residency/trace.h"

namespace sluice {

struct ReplayCounts {
  std::uint64_t requests = 0, hits = 0;  // of all lines
  std::uint64_t decode_requests = 0, decode_hits = 0;
  double cpu_seconds = 0;  // of the thread, for the whole replay

  double decode_hit_rate() const {
    return decode_requests == 0 ? 0 : static_cast<double>(decode_hits) / static_cast<double>(decode_requests);
  }
};

// Requires: the policy is fresh, made for shape_of(trace, ...) or by make_belady.
ReplayCounts replay_in_bytes(const Trace& trace, EvictionPolicy& policy, std::uint64_t capacity_bytes);
ReplayCounts replay_in_slots(const Trace& trace, EvictionPolicy& policy, int slots);  // slots >= 1

PolicyShape shape_of(const Trace& trace, int slots);
// How many experts of the trace's mean size fit, at least 1.
int slots_within(const Trace& trace, std::uint64_t capacity_bytes);
// Keeps a reference to the trace.
std::unique_ptr<EvictionPolicy> make_belady(const Trace& trace);

}  // namespace sluice
