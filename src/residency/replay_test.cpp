// Replays count what a naive cache counts, and Belady's bound is the best of all ways to evict.
#include "residency/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "support/expert_uses.h"

namespace sluice {
namespace {

Trace make_trace(int layers, int experts, std::vector<TraceLine> lines) {
  Trace trace;
  trace.layers = layers;
  trace.experts = experts;
  for (int layer = 0; layer < layers; ++layer) trace.layer_bytes.push_back(layer % 2 == 0 ? 10 : 13);
  trace.lines = std::move(lines);
  return trace;
}

Trace random_trace(int layers, int experts, int steps, int widest, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<TraceLine> lines;
  for (int step = 0; step < steps; ++step)
    for (int layer = 0; layer < layers; ++layer) {
      std::set<int> chosen;
      for (std::uint64_t draws = 1 + random() % static_cast<std::uint64_t>(widest); draws > 0; --draws)
        chosen.insert(static_cast<int>(random() % (1 + random() % static_cast<std::uint64_t>(experts))));
      lines.push_back({.decode = step > 1,
                       .token = step,
                       .layer = layer,
                       .uses = test::used_once(std::vector<int>(chosen.begin(), chosen.end()))});
    }
  return make_trace(layers, experts, std::move(lines));
}

// Least recently used in bytes, as the rules are worded, in sets and loops.
ReplayCounts naive_lru(const Trace& trace, std::uint64_t capacity) {
  std::map<std::pair<int, int>, std::size_t> resident;  // last line that used it
  ReplayCounts counts;
  for (std::size_t number = 0; number < trace.lines.size(); ++number) {
    const TraceLine& line = trace.lines[number];
    for (const ExpertUse& use : line.uses) {
      const bool hit = resident.contains({line.layer, use.expert});
      ++counts.requests, counts.hits += hit ? 1 : 0;
      counts.decode_requests += line.decode ? 1 : 0, counts.decode_hits += line.decode && hit ? 1 : 0;
    }
    for (const ExpertUse& use : line.uses) resident[{line.layer, use.expert}] = number;
    const auto bytes = [&] {
      std::uint64_t sum = 0;
      for (const auto& [key, last] : resident) sum += trace.layer_bytes[static_cast<std::size_t>(key.first)];
      return sum;
    };
    while (bytes() > capacity)
      resident.erase(
          std::ranges::min_element(resident, {}, [](const auto& one) { return std::pair(one.second, one.first); }));
  }
  return counts;
}

TEST(Replay, InBytesEqualsANaiveCache) {
  for (const std::uint64_t capacity : {5u, 40u, 95u, 230u, 100000u}) {
    const Trace trace = random_trace(5, 12, 40, 4, capacity);
    const ReplayCounts found =
        replay_in_bytes(trace, *make_policy("lru", shape_of(trace, slots_within(trace, capacity))), capacity);
    const ReplayCounts expected = naive_lru(trace, capacity);
    EXPECT_EQ(found.requests, expected.requests);
    EXPECT_EQ(found.hits, expected.hits);
    EXPECT_EQ(found.decode_requests, expected.decode_requests);
    EXPECT_EQ(found.decode_hits, expected.decode_hits);
  }
}

// The most hits any choice of evictions can reach: all of them are tried.
std::uint64_t best_hits(const Trace& trace, std::size_t line, std::set<std::pair<int, int>> resident,
                        std::size_t room) {
  if (line == trace.lines.size()) return 0;
  const TraceLine& now = trace.lines[line];
  std::uint64_t hits = 0;
  for (const ExpertUse& use : now.uses) hits += resident.contains({now.layer, use.expert}) ? 1 : 0;
  for (const ExpertUse& use : now.uses) resident.insert({now.layer, use.expert});
  if (resident.size() <= room) return hits + best_hits(trace, line + 1, resident, room);
  std::uint64_t best = 0;
  const std::vector<std::pair<int, int>> all(resident.begin(), resident.end());
  for (std::uint32_t kept = 0; kept < 1u << all.size(); ++kept) {
    if (static_cast<std::size_t>(__builtin_popcount(kept)) != room) continue;
    std::set<std::pair<int, int>> rest;
    for (std::size_t one = 0; one < all.size(); ++one)
      if ((kept >> one & 1) != 0) rest.insert(all[one]);
    best = std::max(best, best_hits(trace, line + 1, rest, room));
  }
  return hits + best;
}

TEST(Replay, BeladyIsTheBestThereIs) {
  for (std::uint64_t seed = 0; seed < 30; ++seed)
    for (const std::size_t room : {1u, 2u, 3u}) {
      Trace trace = random_trace(2, 4, 4, 2, seed);
      trace.layer_bytes.assign(2, 10);
      EXPECT_EQ(replay_in_bytes(trace, *make_belady(trace), 10 * room).hits, best_hits(trace, 0, {}, room)) << seed;
    }
}

TEST(Replay, NothingBeatsTheBound) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const Trace trace = random_trace(6, 24, 60, 4, seed);
    for (const int slots : {4, 9, 30, 80})
      for (const std::string_view name : policy_names()) {
        const ReplayCounts counts = replay_in_slots(trace, *make_policy(name, shape_of(trace, slots)), slots);
        const ReplayCounts bound = replay_in_slots(trace, *make_belady(trace), slots);
        EXPECT_LE(counts.hits, bound.hits) << name << " in " << slots << " slots";
      }
  }
}

TEST(Replay, ByHand) {
  // One layer, room for two slots: 1 2 3 1 2.
  std::vector<TraceLine> lines;
  for (const int expert : {1, 2, 3, 1, 2}) lines.push_back({.decode = true, .layer = 0, .uses = {{expert, 1}}});
  const Trace trace = make_trace(1, 4, std::move(lines));
  EXPECT_EQ(replay_in_slots(trace, *make_policy("lru", shape_of(trace, 2)), 2).hits, 0u);
  EXPECT_EQ(replay_in_slots(trace, *make_belady(trace), 2).hits, 1u);   // 3 takes the place of 1 or of 2
  EXPECT_EQ(replay_in_bytes(trace, *make_belady(trace), 20).hits, 2u);  // 3 is not kept
  EXPECT_EQ(replay_in_slots(trace, *make_policy("lru", shape_of(trace, 3)), 3).hits, 2u);
}

// On a piece of a real trace the shipped policy is ahead of all the others, and has no cliff where recency has one.
TEST(Replay, TheDefaultLeadsOnARecordedTrace) {
  const Result<Trace> trace = read_trace(SLUICE_SOURCE_DIR "/tests/traces/gpt_oss_head.trace");
  ASSERT_TRUE(trace.has_value()) << trace.error().what;
  EXPECT_EQ(trace->top_k, 2);
  for (const int percent : {25, 50, 100, 200}) {
    const std::uint64_t capacity = trace->token_bytes() * static_cast<std::uint64_t>(percent) / 100;
    const PolicyShape shape = shape_of(*trace, slots_within(*trace, capacity));
    std::map<std::string_view, std::uint64_t> hits;
    for (const std::string_view name : policy_names())
      hits[name] = replay_in_bytes(*trace, *make_policy(name, shape), capacity).decode_hits;
    EXPECT_GT(hits["default"], percent < 100 ? 0 : hits["lru"]);
    for (const std::string_view name : {"expected_use", "layer_recency", "lfu"})
      EXPECT_GE(hits["default"] + 4, hits[name]) << name << " at " << percent << " % of a token";
  }
}

}  // namespace
}  // namespace sluice
