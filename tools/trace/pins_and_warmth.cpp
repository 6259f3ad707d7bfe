// What pins by use add to the shipped policy, and what a start with the hottest experts of an earlier text is worth, by
// replay. The figures of docs/cache_policy.md. It is no part of the build:
//
//   g++ -std=c++20 -O1 -I src tools/trace/pins_and_warmth.cpp
//   build/src/libsluice_{residency,checkpoint,io,formats,base}.a
//       -lfmt -lxxhash -o build/pins_and_warmth && build/pins_and_warmth TRACE TURN_TOKENS CAPACITY...
//
// Pins: for several shares of the slots, chosen anew every TURN_TOKENS tokens (0: where the trace's own turns end).
// Warm: the first half of the trace is only counted; of the second half, hits if nothing is known, if the policy knows
// the counts, if the hottest experts are in memory too, and the same with experts mistaken for others. A capacity is in
// MiB, or with % a share of the experts of the trace.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "residency/replay.h"
#include "residency/usage.h"

using namespace sluice;

namespace {

struct Hits {
  std::uint64_t requests = 0, hits = 0;
  double percent() const { return 100.0 * static_cast<double>(hits) / static_cast<double>(requests); }
};

// Of these lines of the trace, in so many slots: the policy knows of these uses (or null), and the hottest of them are
// there (`warm`).
Hits hits_of(const Trace& trace, const std::vector<TraceLine>& lines, int slots, const ExpertUsage* known, bool warm) {
  const auto policy = make_policy("default", shape_of(trace, slots));
  if (known != nullptr) policy->begin_with(known->counts());
  std::map<std::pair<int, int>, int> slot_of;
  std::map<int, std::pair<int, int>> held;
  std::vector<int> free;
  for (int slot = slots - 1; slot >= 0; --slot) free.push_back(slot);
  const auto fill = [&](ExpertKey key) {
    const int slot = free.back();
    free.pop_back();
    held[slot] = {key.layer, key.expert};
    slot_of[held[slot]] = slot;
    policy->filled(slot, key);
  };
  if (warm)
    for (const ExpertKey key : known->hottest(static_cast<std::size_t>(slots))) fill(key);
  Hits count;
  for (const TraceLine& line : lines) {
    policy->requested(line.layer, line.uses);
    std::set<std::pair<int, int>> in_use;
    for (const ExpertUse& use : line.uses) {
      in_use.insert({line.layer, use.expert});
      ++count.requests;
      count.hits += slot_of.contains({line.layer, use.expert}) ? 1 : 0;
    }
    for (const ExpertUse& use : line.uses) {
      if (slot_of.contains({line.layer, use.expert})) continue;
      if (free.empty()) {
        if (std::ranges::all_of(held, [&](const auto& one) { return in_use.contains(one.second); })) break;
        const int slot = policy->victim([&](int one) { return !in_use.contains(held[one]); });
        slot_of.erase(held[slot]);
        free.push_back(slot);
      }
      fill({line.layer, use.expert});
    }
  }
  return count;
}

// Hits of the first tokens of the second half, if the first one is known, or with every expert of it mistaken for
// another one.
void begin_warm(const Trace& trace, int slots) {
  std::int64_t last = 0;
  for (const TraceLine& line : trace.lines) last = std::max(last, line.token);
  ExpertUsage usage(trace.layers, trace.experts), mistaken(trace.layers, trace.experts);
  for (const TraceLine& line : trace.lines) {
    if (line.token > last / 2) continue;
    std::vector<ExpertUse> others;
    for (const ExpertUse& use : line.uses) others.push_back({trace.experts - 1 - use.expert, use.rows});
    usage.add(line.layer, line.uses);
    mistaken.add(line.layer, others);
  }
  for (const int tokens : {1, 4, 16, 1000}) {
    std::vector<TraceLine> lines;
    for (const TraceLine& line : trace.lines)
      if (line.token > last / 2 && line.token <= last / 2 + tokens) lines.push_back(line);
    std::printf(
        "  first %4d tokens: nothing known %.1f %%, known %.1f %%, and read before %.1f %%, mistaken %.1f %%\n", tokens,
        hits_of(trace, lines, slots, nullptr, false).percent(), hits_of(trace, lines, slots, &usage, false).percent(),
        hits_of(trace, lines, slots, &usage, true).percent(), hits_of(trace, lines, slots, &mistaken, true).percent());
  }
}

void pin(const Trace& trace, std::uint64_t capacity, PolicyShape shape) {
  std::printf("  default: %.2f",
              100 * replay_in_bytes(trace, *make_policy("default", shape), capacity).decode_hit_rate());
  for (const int percent : {5, 10, 25, 50}) {
    shape.pin_percent = percent;
    const auto policy = make_policy("pinned", shape);
    std::printf("  %d %%: %.2f", percent, 100 * replay_in_bytes(trace, *policy, capacity).decode_hit_rate());
  }
  std::printf("\n");
}

std::uint64_t used_bytes(const Trace& trace) {
  std::set<std::pair<int, int>> used;
  std::uint64_t bytes = 0;
  for (const TraceLine& line : trace.lines)
    for (const ExpertUse& use : line.uses)
      if (used.insert({line.layer, use.expert}).second)
        bytes += trace.layer_bytes[static_cast<std::size_t>(line.layer)];
  return bytes;
}

}  // namespace

int main(int count, char** words) {
  if (count < 4) return 2;
  Result<Trace> trace = read_trace(words[1]);
  if (!trace) return std::fprintf(stderr, "%s\n", trace.error().what.c_str()), 1;
  if (const int tokens = std::atoi(words[2]); tokens > 0) cut_into_turns(*trace, tokens);
  for (int word = 3; word < count; ++word) {
    const std::uint64_t number = std::strtoull(words[word], nullptr, 10);
    const std::uint64_t capacity =
        std::string(words[word]).ends_with('%') ? used_bytes(*trace) * number / 100 : number << 20;
    const PolicyShape shape = shape_of(*trace, slots_within(*trace, capacity));
    std::printf("%s of %s\n", words[word], words[1]);
    pin(*trace, capacity, shape);
    begin_warm(*trace, shape.slots);
  }
}
