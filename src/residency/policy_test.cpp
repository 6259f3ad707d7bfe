// Policies are their formulas, and the shipped one has no cliff where recency has one.
#include "residency/policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "support/expert_uses.h"

namespace sluice {
namespace {

TEST(Policy, ExpectedUseEvictsByItsFormula) {
  constexpr int kLayers = 7, kExperts = 9, kSlots = 30;
  const auto policy = make_policy("expected_use", {kLayers, kExperts, kSlots});
  std::mt19937_64 random(1);
  std::vector<std::set<int>> history[kLayers];  // experts used at each step of a layer
  std::vector<ExpertKey> key_of(kSlots, {-1, -1});
  const auto distance = [&](ExpertKey key, int now) {
    double uses = 0, seen = 0, weight = 1;
    const auto& steps = history[key.layer];
    for (auto step = steps.rbegin(); step != steps.rend(); ++step, weight *= 0.9) {
      seen += weight;
      if (step->contains(key.expert)) uses += weight;
    }
    const int until = key.layer > now ? key.layer - now : key.layer - now + kLayers;
    return until + kLayers * (seen / uses - 1);
  };
  int used = 0;
  for (int step = 0; step < 200; ++step)
    for (int layer = 0; layer < kLayers; ++layer) {
      std::set<int> experts;
      for (int draw = 0; draw < 3; ++draw) experts.insert(static_cast<int>(random() % (1 + random() % kExperts)));
      history[layer].push_back(experts);
      policy->requested(layer, test::used_once(std::vector<int>(experts.begin(), experts.end())));
      for (int expert : experts) {
        const ExpertKey key{layer, expert};
        if (std::ranges::find(key_of, key) != key_of.end()) continue;
        int slot = used;
        if (used < kSlots) {
          ++used;
        } else {
          std::set<int> evictable;
          double furthest = -1;
          for (int other = 0; other < kSlots; ++other) {
            const ExpertKey held = key_of[static_cast<std::size_t>(other)];
            if (held.layer == layer && experts.contains(held.expert)) continue;
            evictable.insert(other);
            furthest = std::max(furthest, distance(held, layer));
          }
          slot = policy->victim([&](int one) { return evictable.contains(one); });
          ASSERT_TRUE(evictable.contains(slot));
          ASSERT_NEAR(distance(key_of[static_cast<std::size_t>(slot)], layer), furthest, 1e-6 * furthest);
        }
        key_of[static_cast<std::size_t>(slot)] = key;
        policy->filled(slot, key);
      }
    }
}

// Hits of a router with favourites, in slots for half of what a token uses.
double hit_share(std::string_view name) {
  constexpr int kLayers = 20, kExperts = 32, kTopK = 4, kSlots = kLayers * kTopK / 2;
  const auto policy = make_policy(name, {.layers = kLayers, .experts = kExperts, .slots = kSlots, .top_k = kTopK});
  std::mt19937_64 random(2);
  std::vector<ExpertKey> key_of(kSlots, {-1, -1});
  int requests = 0, hits = 0, used = 0;
  for (int step = 0; step < 100; ++step)
    for (int layer = 0; layer < kLayers; ++layer) {
      std::set<int> experts;
      while (experts.size() < kTopK)
        experts.insert(static_cast<int>(random() % (1 + random() % (1 + random() % kExperts))));
      policy->requested(layer, test::used_once(std::vector<int>(experts.begin(), experts.end())));
      std::set<int> evictable;
      for (int slot = 0; slot < kSlots; ++slot) {
        const ExpertKey held = key_of[static_cast<std::size_t>(slot)];
        if (held.layer != layer || !experts.contains(held.expert)) evictable.insert(slot);
      }
      for (int expert : experts) {
        ++requests;
        if (std::ranges::find(key_of, ExpertKey{layer, expert}) != key_of.end()) {
          ++hits;
          continue;
        }
        const int slot = used < kSlots ? used++ : policy->victim([&](int one) { return evictable.contains(one); });
        evictable.erase(slot);
        key_of[static_cast<std::size_t>(slot)] = {layer, expert};
        policy->filled(slot, {layer, expert});
      }
    }
  return static_cast<double>(hits) / requests;
}

TEST(Policy, TheDefaultHasNoCliff) {
  EXPECT_EQ(hit_share("lru"), 0);
  EXPECT_GT(hit_share("default"), 0.25);
  EXPECT_GT(hit_share("expected_use"), 0.25);
  EXPECT_GT(hit_share("layer_recency"), 0.05);
  EXPECT_GT(hit_share("lfu"), 0.2);
}

// Two layers, one expert a request, all slots full: who goes?
struct Step {
  int layer, expert;
};
ExpertKey first_to_go(std::string_view name, const std::vector<Step>& steps) {
  const auto policy = make_policy(name, {.layers = 2, .experts = 9, .slots = 4, .top_k = 1});
  std::vector<ExpertKey> held;
  for (const auto& [layer, expert] : steps) {
    policy->requested(layer, std::vector<ExpertUse>{{expert, 1}});
    const ExpertKey key{layer, expert};
    if (std::ranges::find(held, key) != held.end()) continue;
    policy->filled(static_cast<int>(held.size()), key);
    held.push_back(key);
  }
  return held[static_cast<std::size_t>(policy->victim([](int) { return true; }))];
}

TEST(Policy, HandMadeTraces) {
  // Used longest ago: expert 1 of layer 0. Rarest: expert 2 of layer 0. The layer just left, of the oldest token:
  // expert 5 of layer 1, although it was used after expert 1.
  const std::vector<Step> steps = {{0, 1}, {1, 5}, {0, 1}, {1, 5}, {0, 2}, {1, 6}, {0, 3}, {1, 6}};
  EXPECT_EQ(first_to_go("lru", steps), (ExpertKey{0, 1}));
  EXPECT_EQ(first_to_go("lfu", steps), (ExpertKey{0, 2}));
  EXPECT_EQ(first_to_go("layer_recency", steps), (ExpertKey{1, 5}));
  // One of the next layer that has been away for two tokens goes before the one just used.
  EXPECT_EQ(first_to_go("layer_recency", {{0, 1}, {1, 5}, {0, 2}, {1, 5}, {0, 2}, {1, 5}}), (ExpertKey{0, 1}));
  // Used by every request of its layer: never goes before one that was used once.
  const std::vector<Step> steady = {{0, 1}, {1, 5}, {0, 1}, {1, 6}, {0, 1}, {1, 6}, {0, 1}, {1, 6}};
  EXPECT_EQ(first_to_go("expected_use", steady), (ExpertKey{1, 5}));
  EXPECT_EQ(first_to_go("default", steady), (ExpertKey{1, 5}));
}

// In a prompt of many rows what counts is how many of them used an expert.
TEST(Policy, TheDefaultCountsRows) {
  const auto policy = make_policy("default", {.layers = 1, .experts = 9, .slots = 2, .top_k = 2});
  policy->requested(0, std::vector<ExpertUse>{{1, 3}, {2, 17}, {4, 20}});
  for (int slot = 0; slot < 3; ++slot) policy->filled(slot, {0, slot == 2 ? 4 : slot + 1});
  EXPECT_EQ(policy->victim([](int) { return true; }), 0);
  EXPECT_EQ(policy->victim([](int) { return true; }), 1);
}

// What was read before anybody asked stays if earlier runs say that it is used often; else it goes first.
TEST(Policy, TheDefaultKnowsEarlierRuns) {
  for (const bool known : {false, true}) {
    const auto policy = make_policy("default", {.layers = 2, .experts = 4, .slots = 3, .top_k = 1});
    if (known) policy->begin_with(std::vector<std::uint32_t>{1, 60, 1, 2, 1, 1, 1, 61});
    policy->filled(0, {0, 1});
    policy->filled(1, {1, 3});
    policy->requested(0, std::vector<ExpertUse>{{2, 1}});
    policy->filled(2, {0, 2});
    policy->requested(1, std::vector<ExpertUse>{{3, 1}});
    policy->requested(0, std::vector<ExpertUse>{{3, 1}});
    EXPECT_EQ(policy->victim([](int) { return true; }), known ? 2 : 0);
  }
}

TEST(Policy, UnknownNamesGiveNothing) {
  for (std::string_view name : policy_names()) EXPECT_NE(make_policy(name, {1, 1, 1}), nullptr);
  EXPECT_EQ(make_policy("clairvoyant", {1, 1, 1}), nullptr);
}

}  // namespace
}  // namespace sluice
