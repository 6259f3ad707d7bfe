// What an engine has done since it was opened, and the difference between two looks at it.
#pragma once

#include <cstdint>

#include "residency/expert_store.h"
#include "residency/governed_store.h"
#include "residency/policies/pinned_experts.h"
#include "residency/row_table.h"
#include "residency/trunk_store.h"

namespace sluice {

struct EngineStats {
  TrunkStats trunk;
  ExpertStats experts;
  RowStats embedding;
  GovernorStats governor = {};
  double disk_busy_seconds = 0;  // time in which at least one read was under way
  // If EngineOptions::time_operations: spent in operations on numbers, and in looking at the clock for it.
  double operation_seconds = 0, watching_seconds = 0;
  PinStats pins = {};

  std::uint64_t bytes_read() const { return trunk.bytes_read + experts.bytes_read + embedding.bytes_read; }
  // Without what was read because a router named it wrongly.
  std::uint64_t needed_bytes_read() const { return bytes_read() - experts.surplus_bytes; }
  // Time in which the engine waited for reads.
  double exposed_seconds() const { return trunk.exposed_seconds + experts.exposed_seconds + embedding.exposed_seconds; }
};

// What was done between two looks. Slots and pins are no doing: they are those of the later one.
inline EngineStats operator-(EngineStats now, const EngineStats& before) {
  now.trunk.bytes_read -= before.trunk.bytes_read;
  now.trunk.exposed_seconds -= before.trunk.exposed_seconds;
  now.trunk.unpack_seconds -= before.trunk.unpack_seconds;
  now.experts.requests -= before.experts.requests;
  now.experts.hits -= before.experts.hits;
  now.experts.begun -= before.experts.begun;
  now.experts.bytes_read -= before.experts.bytes_read;
  now.experts.preloaded_bytes -= before.experts.preloaded_bytes;
  now.experts.expected -= before.experts.expected;
  now.experts.expected_rightly -= before.experts.expected_rightly;
  now.experts.surplus_bytes -= before.experts.surplus_bytes;
  now.experts.exposed_seconds -= before.experts.exposed_seconds;
  now.embedding.bytes_read -= before.embedding.bytes_read;
  now.embedding.exposed_seconds -= before.embedding.exposed_seconds;
  now.governor.given_back_bytes -= before.governor.given_back_bytes;
  now.governor.times -= before.governor.times;
  now.pins.hits -= before.pins.hits;
  now.disk_busy_seconds -= before.disk_busy_seconds;
  now.operation_seconds -= before.operation_seconds;
  now.watching_seconds -= before.watching_seconds;
  return now;
}

}  // namespace sluice
