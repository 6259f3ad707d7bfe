// Where every byte will live: the memory plan for a budget, or a refusal with numbers and ways out.
//
// A pure function of values. What it promises is measured by the end-to-end tests: peak resident memory stays under the
// budget + 2 % at every budget the plan accepts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "residency/machine.h"
#include "residency/trunk_store.h"

namespace sluice {

// What a model needs, as numbers.
struct PlanNeeds {
  std::uint64_t baseline_bytes = 0;       // the program without weights: code, index, tokenizer, threads
  std::vector<std::uint64_t> step_bytes;  // slot bytes of each step of the walk
  // Of each step, what reading it takes less than its slot, because it is compressed on disk. Empty: nothing.
  std::vector<std::uint64_t> step_savings;
  std::uint64_t expert_slot_bytes = 0;
  std::uint64_t expert_count = 0;    // of all layers; 0: no routed experts
  std::uint64_t experts_in_use = 0;  // distinct experts one decode step of one layer asks for (top-k)
  std::uint64_t expert_layers = 0;
  std::uint64_t state_bytes = 0;  // of one sequence at the planned context
  // By prefill chunk, all ascending; the first is the least that runs.
  std::vector<int> chunks;
  std::vector<std::uint64_t> scratch_bytes, embedding_bytes;  // activations; window of embedding rows
  std::uint64_t io_bytes = 0;
  int threads = 1;
};

struct MemoryPlan {
  std::uint64_t budget_bytes = 0, planned_bytes = 0, minimum_bytes = 0, resident_bytes = 0, baseline_bytes = 0;
  struct Parts {
    std::uint64_t trunk_pinned = 0, trunk_ring = 0, experts = 0, embeddings = 0, state = 0, scratch = 0, io = 0;
  } parts;
  TrunkSizes trunk;
  int expert_slots = 0;
  int prefill_chunk = 1;
  bool everything_resident = false;
  // Bytes read for one decoded token if every expert were as likely as any other of its layer (an upper estimate). A
  // larger budget never plans more of them.
  std::uint64_t trunk_bytes_per_token = 0, expert_bytes_per_token = 0;
  // The slots of the steps that are read for each token, and what passes through memory to unpack them.
  std::uint64_t trunk_passing_bytes = 0, unpacked_bytes_per_token = 0;
  // Weight bytes one token multiplies with.
  std::uint64_t touched_bytes_per_token = 0;
};

// Refused (exit code 3) below minimum: says the minimum, what takes it, and what to change.
Result<MemoryPlan> make_plan(const PlanNeeds& needs, std::uint64_t budget_bytes);

// The least that runs and everything in memory, whatever the budget.
std::uint64_t minimum_bytes(const PlanNeeds& needs);
std::uint64_t resident_bytes(const PlanNeeds& needs);

// 80 % of what is available now.
std::uint64_t default_budget(const Machine& machine);

// What a plan costs per token on this machine.
struct Forecast {
  double seconds_per_token = 0;
  std::string limit;  // "disk", "memory" or "compute"
};
Forecast forecast(const MemoryPlan& plan, const Machine& machine);

}  // namespace sluice
