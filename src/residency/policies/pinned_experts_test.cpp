// Pins hold on to what is used most, change rarely, and are in nobody's way.
#include "residency/policies/pinned_experts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "residency/replay.h"
#include "residency/resizable_store.h"
#include "support/scattered_experts.h"

namespace sluice {
namespace {

// One layer around recency, all slots full: expert n is in slot n.
PinnedExperts full(int slots, int percent) {
  const PolicyShape shape{.layers = 1, .experts = slots, .slots = slots, .top_k = 1, .pin_percent = percent};
  PinnedExperts policy(make_policy("lru", shape), shape);
  for (int slot = 0; slot < slots; ++slot) policy.filled(slot, {0, slot});
  return policy;
}
// A turn in which expert n is used uses[n] times.
void turn(PinnedExperts& policy, const std::vector<int>& uses) {
  for (std::size_t expert = 0; expert < uses.size(); ++expert)
    for (int use = 0; use < uses[expert]; ++use)
      policy.requested(0, std::vector<ExpertUse>{{static_cast<int>(expert), 1}});
  policy.between_turns();
}
std::vector<int> pinned(const PinnedExperts& policy, int experts) {
  std::vector<int> found;
  for (int expert = 0; expert < experts; ++expert)
    if (policy.pinned({0, expert})) found.push_back(expert);
  return found;
}

// Of 0 to count - 1, the low ones more often.
int favourite(std::mt19937_64& random, int count) {
  const std::uint64_t limit = 1 + random() % static_cast<std::uint64_t>(count);
  return static_cast<int>(random() % limit);
}

TEST(PinnedExperts, TwoOfAboutEqualUseDoNotTakeTurns) {
  PinnedExperts policy = full(4, 25);
  double uses[2] = {};
  int leads = 0;
  for (int number = 0; number < 40; ++number) {
    const std::vector<int> now = number % 2 == 0 ? std::vector{11, 9} : std::vector{9, 11};
    turn(policy, now);
    for (int expert : {0, 1}) uses[expert] = uses[expert] * 0.9 + now[static_cast<std::size_t>(expert)];
    leads += uses[1] > uses[0] ? 1 : 0;
    EXPECT_EQ(pinned(policy, 4), std::vector{0}) << number;
  }
  EXPECT_EQ(leads, 20);  // the other one was ahead every second time
  // Ahead by less than half for good: it stays. By more: it goes, and comes back no sooner than it is so far ahead.
  for (int number = 0; number < 40; ++number) turn(policy, {10, 14});
  EXPECT_EQ(pinned(policy, 4), std::vector{0});
  for (int number = 0; number < 40; ++number) turn(policy, {10, 16});
  EXPECT_EQ(pinned(policy, 4), std::vector{1});
  for (int number = 0; number < 40; ++number) turn(policy, {14, 10});
  EXPECT_EQ(pinned(policy, 4), std::vector{1});
}

TEST(PinnedExperts, AreChosenBetweenTurnsAlone) {
  PinnedExperts policy = full(4, 50);
  turn(policy, {9, 0, 5, 1});
  EXPECT_EQ(pinned(policy, 4), (std::vector{0, 2}));
  for (int use = 0; use < 1000; ++use) policy.requested(0, std::vector<ExpertUse>{{3, 1}});
  EXPECT_EQ(pinned(policy, 4), (std::vector{0, 2}));
  EXPECT_EQ(policy.stats().hits, 0u);
  policy.requested(0, std::vector<ExpertUse>{{0, 1}, {1, 1}, {2, 1}});
  EXPECT_EQ(policy.stats().hits, 2u);
  policy.between_turns();
  EXPECT_EQ(pinned(policy, 4), (std::vector{0, 3}));
  EXPECT_EQ(policy.stats().pinned, 2);
}

TEST(PinnedExperts, OldTurnsFade) {
  PinnedExperts policy = full(4, 25);
  turn(policy, {100, 0, 0, 0});
  int turns = 0;
  for (; policy.pinned({0, 0}); ++turns) turn(policy, {0, 10, 0, 0});
  EXPECT_EQ(turns, 9);  // the first n with 1.5 * 100 * 0.9^n < 10 * (1 - 0.9^n) / (1 - 0.9)
}

TEST(PinnedExperts, HistoryIsPinnedFirstAndOutweighedByWhatIsUsed) {
  PinnedExperts policy = full(4, 25);
  policy.begin_with(std::vector<std::uint32_t>{0, 0, 0, 0});
  EXPECT_EQ(policy.stats().pinned, 0);
  policy.begin_with(std::vector<std::uint32_t>{10'000, 20'000, 60'000, 10'000});
  EXPECT_EQ(pinned(policy, 4), std::vector{2});
  turn(policy, {0, 0, 0, 200});
  EXPECT_EQ(pinned(policy, 4), std::vector{2});  // counts as 154 of 256 uses, and the margin
  turn(policy, {0, 0, 0, 200});
  EXPECT_EQ(pinned(policy, 4), std::vector{3});
}

TEST(PinnedExperts, AShrinkingCacheTakesPinsOfWhatIsUsedLeast) {
  constexpr int kSlots = 10;
  PinnedExperts policy = full(kSlots, 50);
  std::vector<int> uses;
  for (int expert = 0; expert < kSlots; ++expert) uses.push_back(2 * (kSlots - expert));
  turn(policy, uses);
  std::set<int> held;
  for (int slot = 0; slot < kSlots; ++slot) held.insert(slot);
  for (int left = kSlots; left > 0; --left) {
    EXPECT_EQ(policy.stats().pinned, left / 2);
    for (int expert = 0; expert < kSlots; ++expert) EXPECT_EQ(policy.pinned({0, expert}), expert < left / 2);
    const int slot = policy.victim([&](int one) { return held.contains(one); });
    EXPECT_GE(slot, left / 2);
    EXPECT_EQ(held.erase(slot), 1u);
  }
}

// Whatever may go, and whoever fails to be read: nothing pinned goes while anything else may, and something always
// goes.
TEST(PinnedExperts, GoOnlyWhereNothingElseCan) {
  constexpr int kLayers = 3, kExperts = 20, kSlots = 17;
  for (const std::string_view inside : {"default", "lru", "lfu"}) {
    const PolicyShape shape{.layers = kLayers, .experts = kExperts, .slots = kSlots, .top_k = 2, .pin_percent = 50};
    PinnedExperts policy(make_policy(inside, shape), shape);
    std::mt19937_64 random(3);
    std::vector<ExpertKey> where(kSlots, {-1, -1});
    int forced = 0, chosen = 0;
    for (int step = 0; step < 3000; ++step) {
      const int layer = step % kLayers;
      std::set<int> experts;
      for (int draw = 0; draw < 2; ++draw) experts.insert(favourite(random, kExperts));
      policy.requested(layer, test::used_once(std::vector<int>(experts.begin(), experts.end())));
      for (const int expert : experts) {
        const ExpertKey key{layer, expert};
        if (std::ranges::find(where, key) != where.end()) continue;
        auto place = std::ranges::find(where, ExpertKey{-1, -1});
        int slot = static_cast<int>(place - where.begin());
        if (place == where.end()) {
          std::set<int> may_go;
          const std::uint64_t width = 1 + random() % kSlots;
          while (may_go.size() < width) may_go.insert(static_cast<int>(random() % kSlots));
          const auto is_pinned = [&](int one) { return policy.pinned(where[static_cast<std::size_t>(one)]); };
          const bool all_pinned = std::ranges::all_of(may_go, is_pinned);
          const std::vector<ExpertKey> before = where;
          std::set<int> pinned_before;
          for (const int one : may_go)
            if (is_pinned(one)) pinned_before.insert(one);
          slot = policy.victim([&](int one) { return may_go.contains(one); });
          ASSERT_TRUE(may_go.contains(slot));
          ASSERT_EQ(pinned_before.contains(slot), all_pinned);
          ++(all_pinned ? forced : chosen);
        }
        where[static_cast<std::size_t>(slot)] = key;
        policy.filled(slot, key);
        if (random() % 20 == 0) {  // its read fails, and another one comes into the slot without more ado
          const ExpertKey other{(layer + 1) % kLayers, static_cast<int>(random() % kExperts)};
          if (std::ranges::find(where, other) != where.end()) continue;
          where[static_cast<std::size_t>(slot)] = other;
          policy.filled(slot, other);
        }
      }
      if (step % 90 == 0) policy.between_turns();
    }
    EXPECT_GT(forced, 20) << inside;
    EXPECT_GT(chosen, 200) << inside;
    EXPECT_GT(policy.stats().hits, 200u) << inside;
  }
}

class PinnedStore : public test::ScatteredExperts {
 protected:
  PinnedStore()
      : ScatteredExperts({.longest_delay = std::chrono::microseconds(30)}), queue_(make_pread_queue(files_, 3)) {}

  static PolicyShape shape(int slots) {
    return {.layers = kLayers, .experts = kExperts, .slots = slots, .top_k = 1, .pin_percent = 50};
  }
  // Turns of 8 steps, in each of which other experts are used most.
  static Trace turns(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Trace trace;
    trace.layers = kLayers, trace.experts = kExperts, trace.layer_bytes.assign(kLayers, 1);
    for (int step = 0; step < 48; ++step)
      for (int layer = 0; layer < kLayers; ++layer) {
        std::set<int> experts;
        for (std::uint64_t draws = 1 + random() % 4; draws > 0; --draws)
          experts.insert((step / 8 * 3 + favourite(random, kExperts)) % kExperts);
        trace.lines.push_back({.decode = true,
                               .token = step,
                               .layer = layer,
                               .uses = test::used_once(std::vector<int>(experts.begin(), experts.end())),
                               .begins_turn = step > 0 && step % 8 == 0 && layer == 0});
      }
    return trace;
  }
  std::unique_ptr<ReadQueue> queue_;
};

// In as few slots as a request may find, its experts come in waves.
TEST_F(PinnedStore, EveryByteIsRightAndMissesEqualTheReplay) {
  std::uint64_t differences = 0;
  for (const int slots : {1, 2, 4, 13, 30, kAll}) {
    SCOPED_TRACE(slots);
    const Trace trace = turns(static_cast<std::uint64_t>(slots));
    auto made = std::make_unique<PinnedExperts>(make_policy("default", shape(slots)), shape(slots));
    PinnedExperts& pins = *made;
    const auto store = make_expert_store(table_, slots, std::move(made), *queue_);
    for (const TraceLine& line : trace.lines) {
      if (line.begins_turn) pins.between_turns();
      std::vector<int> experts;
      for (const ExpertUse& use : line.uses) experts.push_back(use.expert);
      run_layer(*store, line.layer, experts, 0);
    }
    const ReplayCounts replayed = replay_in_slots(trace, *make_policy("pinned", shape(slots)), slots);
    EXPECT_EQ(store->stats().requests, replayed.requests);
    EXPECT_EQ(store->stats().hits, replayed.hits);
    EXPECT_LE(pins.stats().hits, replayed.hits);
    EXPECT_EQ(pins.stats().pinned, slots == kAll ? 0 : slots / 2);  // with all resident nobody asks the policy
    EXPECT_TRUE(slots < 13 || (pins.stats().hits > 0) == (slots < kAll));
    differences += replayed.hits != replay_in_slots(trace, *make_policy("default", shape(slots)), slots).hits ? 1 : 0;
  }
  EXPECT_GT(differences, 0u);  // pins do change what stays
}

TEST_F(PinnedStore, ACacheThatShrinksAndGrowsStaysRight) {
  constexpr int kSlots = 30;
  auto made = std::make_unique<PinnedExperts>(make_policy("default", shape(kSlots)), shape(kSlots));
  PinnedExperts& pins = *made;
  const auto store = make_resizable_store(table_, kSlots, std::move(made), *queue_);
  std::mt19937_64 random(8);
  int limit = kSlots;
  for (const TraceLine& line : turns(8).lines) {
    if (line.begins_turn) pins.between_turns();
    if (random() % 6 == 0) {
      limit = 1 + static_cast<int>(random() % kSlots);
      store->resize(limit);
      EXPECT_LE(pins.stats().pinned, limit / 2);
    }
    std::vector<int> experts;
    for (const ExpertUse& use : line.uses) experts.push_back(use.expert);
    run_layer(*store, line.layer, experts, 0);
    EXPECT_LE(store->filled(), limit);
  }
  EXPECT_GT(pins.stats().hits, 0u);
}

}  // namespace
}  // namespace sluice
