// The division of a budget. See plan.h.
//
// What counts is bytes read per token. A pinned byte of the trunk saves one byte a token, or what it takes on disk; a
// byte of expert slots saves top_k / experts_of_a_layer of one if routing has no locality, and never more than one.
// Every number of pinned steps is tried, with the rest for slots, and what reads least is taken; that is nearly the
// whole trunk first, then experts, but for what is left below the size of a step. Before that come the things that let
// reading and computing overlap: a ring of three steps and slots for one layer's experts.
//
// A larger budget never reads more: each way of dividing reads less as memory grows, and so does the best of them. The
// prefill chunk grows at fixed budgets; the memory it will take then is kept from the weights on the way there and lent
// to the ring, so that its growth takes nothing away.
#include "residency/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/units.h"
#include "io/extent.h"
#include "residency/pin_order.h"
#include "residency/policy.h"

namespace sluice {

namespace {

constexpr std::uint64_t kSlotRecord = 512;  // beside each slot: its layout, its place on the lists
// For each expert: its slot, its place in a preload, its uses and those on file, and what the policy knows.
constexpr std::uint64_t kExpertRecord = 32 + kPolicyBytesPerExpert;
constexpr std::uint64_t kScratchShare = 8;       // scratch may take 1/8 of the budget
constexpr std::uint64_t kRingSteps = 3;          // one in use, one that has come, one that is being read
constexpr std::uint64_t kSlotsBesideALayer = 1;  // one expert of the next request beside a layer's

struct Division {
  std::size_t pinned_steps = 0;
  std::uint64_t ring = 0;
  std::uint64_t slots = 0;
};

class Planner {
 public:
  explicit Planner(const PlanNeeds& needs) : needs_(needs), order_(pin_order(needs.step_bytes)) {
    const std::size_t steps = needs.step_bytes.size();
    SLUICE_CHECK(!needs.chunks.empty() && needs.chunks.size() == needs.scratch_bytes.size());
    SLUICE_CHECK(needs.chunks.size() == needs.embedding_bytes.size());
    SLUICE_CHECK(needs.step_savings.empty() || needs.step_savings.size() == steps);
    pinned_.assign(steps + 1, 0);
    largest_.assign(steps + 1, 0);
    read_.assign(steps + 1, 0);
    unpacked_.assign(steps + 1, 0);
    for (std::size_t step = 0; step < steps; ++step) pinned_[step + 1] = pinned_[step] + bytes_of(step);
    for (std::size_t step = steps; step-- > 0;) {
      const std::uint64_t read = bytes_of(step) - savings_of(step);
      read_[step] = read_[step + 1] + read;
      unpacked_[step] = unpacked_[step + 1] + (savings_of(step) > 0 ? read + bytes_of(step) : 0);
    }
    for (std::size_t step = steps; step-- > 0;) largest_[step] = std::max(largest_[step + 1], bytes_of(step));
  }

  std::size_t steps() const { return needs_.step_bytes.size(); }
  std::uint64_t trunk() const { return pinned_.back(); }
  std::uint64_t pinned(std::size_t count) const { return pinned_[count]; }
  // Of the steps that are not among the first `count` to pin: bytes to read, and to move through memory for unpacking.
  std::uint64_t read_of_trunk(std::size_t count) const { return read_[count]; }
  std::uint64_t unpacked(std::size_t count) const { return unpacked_[count]; }
  // The first `count` steps to pin, in the order of the walk.
  std::vector<int> pinned_steps(std::size_t count) const {
    std::vector<int> steps(order_.steps.begin(), order_.steps.begin() + static_cast<std::ptrdiff_t>(count));
    std::ranges::sort(steps);
    return steps;
  }
  std::uint64_t fixed() const {
    return page_ceil(needs_.baseline_bytes) + page_ceil(needs_.state_bytes) + page_ceil(needs_.io_bytes);
  }
  std::uint64_t of_chunk(std::size_t chunk) const {
    return page_ceil(needs_.scratch_bytes[chunk]) + page_ceil(needs_.embedding_bytes[chunk]);
  }
  std::uint64_t experts(std::uint64_t slots) const {
    return slots == 0 ? 0 : page_ceil(slots * slot() + needs_.expert_count * kExpertRecord);
  }

  // The least and the most the weights can use.
  std::uint64_t least_weights() const { return largest_[0] + experts(fewest_slots()); }
  std::uint64_t all_weights() const { return trunk() + experts(needs_.expert_count); }

  std::size_t chunk_for(std::uint64_t budget) const;
  Division divide(std::uint64_t budget, std::size_t chunk) const;
  std::uint64_t expert_bytes_per_token(std::uint64_t slots) const;

 private:
  std::uint64_t slot() const { return page_ceil(needs_.expert_slot_bytes) + kSlotRecord; }
  std::uint64_t fewest_slots() const { return std::min<std::uint64_t>(1, needs_.expert_count); }
  std::uint64_t two_slots() const { return std::min<std::uint64_t>(2, needs_.expert_count); }
  std::uint64_t slots_of_a_layer() const {
    return std::min(needs_.experts_in_use + kSlotsBesideALayer, needs_.expert_count);
  }
  std::uint64_t slots_within(std::uint64_t bytes) const;
  // Of the step that is pinned after `place` others.
  std::uint64_t bytes_of(std::size_t place) const {
    return page_ceil(needs_.step_bytes[static_cast<std::size_t>(order_.steps[place])]);
  }
  std::uint64_t savings_of(std::size_t place) const {
    return needs_.step_savings.empty() ? 0 : needs_.step_savings[static_cast<std::size_t>(order_.steps[place])];
  }
  // A ring that reads ahead without stalls behind `count` pinned steps, but for a few outsized ones.
  std::uint64_t good_ring(std::size_t count) const {
    const std::uint64_t usual = std::min(page_ceil(order_.usual_step), largest_[count]);
    return std::min(std::max(largest_[count], kRingSteps * usual), trunk() - pinned_[count]);
  }
  std::uint64_t chunk_begins_at(std::size_t chunk) const;
  std::uint64_t read_per_token(const Division& division) const {
    return read_of_trunk(division.pinned_steps) + expert_bytes_per_token(division.slots);
  }

  std::optional<Division> with_read_ahead(std::uint64_t bytes) const;
  std::optional<Division> with_all_pinned(std::uint64_t bytes) const;
  Division without_comfort(std::uint64_t bytes) const;

  const PlanNeeds& needs_;
  PinOrder order_;
  std::vector<std::uint64_t> pinned_;           // [i]: bytes of the first i steps in that order
  std::vector<std::uint64_t> largest_;          // [i]: the largest of the steps from i on
  std::vector<std::uint64_t> read_, unpacked_;  // [i]: sums over the steps from i on
};

std::uint64_t Planner::slots_within(std::uint64_t bytes) const {
  const std::uint64_t records = needs_.expert_count * kExpertRecord;
  if (needs_.expert_count == 0 || page_floor(bytes) < records) return 0;
  return std::min(needs_.expert_count, (page_floor(bytes) - records) / slot());
}

// Misses of one token if each expert is as likely as any other of its layer.
std::uint64_t Planner::expert_bytes_per_token(std::uint64_t slots) const {
  if (needs_.expert_count == 0) return 0;
  const auto asked = static_cast<unsigned __int128>(needs_.expert_layers * needs_.experts_in_use) *
                     page_ceil(needs_.expert_slot_bytes);
  return static_cast<std::uint64_t>(asked * (needs_.expert_count - slots) / needs_.expert_count);
}

// The budget from which a prefill chunk is worth its scratch: a longer chunk walks the trunk less often, which no ring
// and no further slot makes up for.
std::uint64_t Planner::chunk_begins_at(std::size_t chunk) const {
  const std::uint64_t beside = fixed() + of_chunk(chunk);
  const std::uint64_t least = std::min(largest_[0] + experts(two_slots()), all_weights());
  return std::min(std::max(kScratchShare * of_chunk(chunk), beside + least), beside + all_weights());
}

std::size_t Planner::chunk_for(std::uint64_t budget) const {
  std::size_t chunk = 0;
  while (chunk + 1 < needs_.chunks.size() && chunk_begins_at(chunk + 1) <= budget) ++chunk;
  return chunk;
}

// Any number of pinned steps, with a good ring and slots for a layer at least.
std::optional<Division> Planner::with_read_ahead(std::uint64_t bytes) const {
  const std::uint64_t slots = experts(slots_of_a_layer());
  std::optional<Division> best;
  for (std::size_t count = steps() + 1; count-- > 0;) {
    const std::uint64_t trunk_bytes = pinned_[count] + good_ring(count);
    if (trunk_bytes + slots > bytes) continue;
    const Division division{count, good_ring(count), slots_within(bytes - trunk_bytes)};
    if (!best || read_per_token(division) < read_per_token(*best)) best = division;
  }
  return best;
}

// A small trunk is pinned whole even if that leaves few slots.
std::optional<Division> Planner::with_all_pinned(std::uint64_t bytes) const {
  const bool small = trunk() <= 2 * largest_[0];
  const std::uint64_t slots = small ? fewest_slots() : slots_of_a_layer();
  if (trunk() + experts(slots) > bytes) return std::nullopt;
  return Division{steps(), 0, slots_within(bytes - trunk())};
}

// Nothing pinned. Two slots overlap reading and computing of experts, a growing ring does so for the trunk.
Division Planner::without_comfort(std::uint64_t bytes) const {
  Division division{0, largest_[0], fewest_slots()};
  if (division.ring + experts(two_slots()) <= bytes) division.slots = two_slots();
  const std::uint64_t rest = bytes - division.ring - experts(division.slots);
  division.ring += page_floor(std::min(rest, good_ring(0) - division.ring));
  division.slots = std::clamp(slots_within(bytes - division.ring), division.slots, slots_of_a_layer());
  return division;
}

Division Planner::divide(std::uint64_t budget, std::size_t chunk) const {
  const std::uint64_t all = budget - fixed() - of_chunk(chunk);
  std::uint64_t weights = all;
  for (std::size_t later = chunk + 1; later < needs_.chunks.size(); ++later)
    weights = std::min(weights, chunk_begins_at(later) - fixed() - of_chunk(later));
  Division best = without_comfort(weights);
  for (const auto& other : {with_all_pinned(weights), with_read_ahead(weights)})
    if (other && read_per_token(*other) <= read_per_token(best)) best = *other;
  const std::uint64_t beside = pinned_[best.pinned_steps] + experts(best.slots);
  best.ring = page_floor(std::min(all - beside, trunk() - pinned_[best.pinned_steps]));  // what is left reads ahead
  return best;
}

tl::unexpected<Error> refuse(const PlanNeeds& needs, std::uint64_t budget, std::uint64_t minimum) {
  const Planner planner(needs);
  std::array<std::pair<std::uint64_t, const char*>, 5> parts = {{
      {needs.baseline_bytes + needs.io_bytes, "the program itself"},
      {needs.state_bytes, "the state of its sequences"},
      {planner.of_chunk(0), "activations"},
      {needs.step_bytes.empty() ? 0 : *std::ranges::max_element(needs.step_bytes), "the largest step of the trunk"},
      {planner.experts(std::min<std::uint64_t>(1, needs.expert_count)), "one expert"},
  }};
  std::ranges::sort(parts, std::ranges::greater{});
  const std::uint64_t enough = (minimum + (1 << 20) - 1) >> 20;  // MiB
  return fail(ErrorKind::refused,
              fmt::format("a memory budget of {} is below the minimum of {} for this model: {} for {}, {} for {}, "
                          "{} for {}, and the rest",
                          format_bytes(budget), format_bytes(minimum), format_bytes(parts[0].first), parts[0].second,
                          format_bytes(parts[1].first), parts[1].second, format_bytes(parts[2].first), parts[2].second),
              fmt::format("give it --memory {}M or more{}", enough,
                          needs.state_bytes > minimum / 8 ? ", or a smaller --context" : ""));
}

}  // namespace

std::uint64_t minimum_bytes(const PlanNeeds& needs) {
  const Planner planner(needs);
  return planner.fixed() + planner.of_chunk(0) + planner.least_weights();
}

std::uint64_t resident_bytes(const PlanNeeds& needs) {
  const Planner planner(needs);
  return planner.fixed() + planner.of_chunk(needs.chunks.size() - 1) + planner.all_weights();
}

Result<MemoryPlan> make_plan(const PlanNeeds& needs, std::uint64_t budget_bytes) {
  const std::uint64_t minimum = minimum_bytes(needs);
  if (budget_bytes < minimum) return refuse(needs, budget_bytes, minimum);
  const Planner planner(needs);
  const std::size_t chunk = planner.chunk_for(budget_bytes);
  const Division division = planner.divide(budget_bytes, chunk);

  MemoryPlan plan;
  plan.budget_bytes = budget_bytes;
  plan.minimum_bytes = minimum;
  plan.resident_bytes = resident_bytes(needs);
  plan.baseline_bytes = page_ceil(needs.baseline_bytes);
  plan.parts = {.trunk_pinned = planner.pinned(division.pinned_steps),
                .trunk_ring = division.ring,
                .experts = planner.experts(division.slots),
                .embeddings = page_ceil(needs.embedding_bytes[chunk]),
                .state = page_ceil(needs.state_bytes),
                .scratch = page_ceil(needs.scratch_bytes[chunk]),
                .io = page_ceil(needs.io_bytes)};
  const MemoryPlan::Parts& parts = plan.parts;
  plan.planned_bytes = plan.baseline_bytes + parts.trunk_pinned + parts.trunk_ring + parts.experts + parts.embeddings +
                       parts.state + parts.scratch + parts.io;
  plan.trunk = {planner.pinned_steps(division.pinned_steps), division.ring};
  plan.expert_slots = static_cast<int>(division.slots);
  plan.prefill_chunk = needs.chunks[chunk];
  plan.everything_resident = division.pinned_steps == planner.steps() && division.slots == needs.expert_count;
  plan.trunk_bytes_per_token = planner.read_of_trunk(division.pinned_steps);
  plan.trunk_passing_bytes = planner.trunk() - parts.trunk_pinned;
  plan.unpacked_bytes_per_token = planner.unpacked(division.pinned_steps);
  plan.expert_bytes_per_token = planner.expert_bytes_per_token(division.slots);
  plan.touched_bytes_per_token = planner.trunk() + planner.expert_bytes_per_token(0);
  return plan;
}

std::uint64_t default_budget(const Machine& machine) { return machine.available_bytes / 5 * 4; }

Forecast forecast(const MemoryPlan& plan, const Machine& machine) {
  Forecast best{0, "compute"};
  const auto at_least = [&](std::uint64_t bytes, double rate, const char* limit) {
    const double seconds = rate > 0 ? static_cast<double>(bytes) / rate : 0;
    if (seconds > best.seconds_per_token) best = {seconds, limit};
  };
  at_least(plan.touched_bytes_per_token, machine.multiply_bytes_per_second, "compute");
  at_least(plan.touched_bytes_per_token + plan.unpacked_bytes_per_token, machine.memory_bytes_per_second, "memory");
  at_least(plan.trunk_bytes_per_token + plan.expert_bytes_per_token, machine.disk_bytes_per_second, "disk");
  return best;
}

}  // namespace sluice
