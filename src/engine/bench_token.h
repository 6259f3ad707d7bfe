// How close decoding comes to what the machine allows, at several memory budgets.
//
// A token cannot take less than its bytes from disk at the disk's speed, nor less than the weights it multiplies with
// at the speed of memory. Both speeds drift on a shared machine, so they are measured between rounds of decoding and
// each beside the other (residency/joint_probe.h), the disk's in all directories that hold the weights. A round begins
// with a token that is not counted: what was read ahead while the yardsticks were measured must not look like speed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/function_ref.h"
#include "engine/survey.h"

namespace sluice {

struct TokenBenchOptions {
  std::string directory;
  EngineOptions engine;                // memory_bytes is set to each of `budgets`
  std::vector<std::uint64_t> budgets;  // empty: engine.memory_bytes alone
  int tokens = 8;                      // counted, for each budget
  int rounds = 2;
  const CancelFlag* cancel = nullptr;
};

struct TokenBenchEntry {
  std::uint64_t memory_bytes = 0, planned_bytes = 0;
  double s_per_token = 0;
  double disk_floor_s = 0, memory_floor_s = 0;              // each with the other load beside it
  double disk_alone_floor_s = 0, memory_alone_floor_s = 0;  // without
  double ratio = 0;                                         // s_per_token to the higher of the first two floors
  double exposed_io_s = 0;                                  // of a token, spent waiting for reads
  double unpack_s = 0;                                      // of a token, spent unpacking compressed weights
  double disk_busy_s = 0;                                   // of a token, with at least one read under way
  double operations_s = 0, watching_s = 0;                  // of a token, spent in operations and in timing them
  double stolen_s = 0;  // of a token, of all processors together: what the host of a virtual machine took
  // The share of what is neither in a token that nobody times: choosing, keeping books, the walk itself.
  double outside_share() const {
    const double token = s_per_token - watching_s;
    return (token - exposed_io_s - unpack_s - operations_s) / token;
  }
  // Of a token.
  double bytes_read_per_token = 0, trunk_bytes_per_token = 0, expert_bytes_per_token = 0;
  double surplus_bytes_per_token = 0;  // of those read: of experts that a router named wrongly
  double touched_bytes_per_token = 0;
  double expert_hit_rate = 0;
  std::vector<double> rounds_s;  // a token's time in each round
};

struct TokenBench {
  int threads = 0;
  std::string isa, numerics, io_mode, io_engine, kv, read_ahead;
  bool preload = true;
  int pin_percent = 0;
  std::vector<std::string> directories;  // that weights are read from: the checkpoint, then its mirrors
  int tokens = 0;
  std::vector<TokenBenchEntry> entries;
};

// `measured` hears of each budget as soon as it is done. A model or a budget that is refused is told before the first
// one is measured.
Result<TokenBench> bench_token(const TokenBenchOptions& options, FunctionRef<void(const TokenBenchEntry&)> measured);

}  // namespace sluice
