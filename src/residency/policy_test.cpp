// The shipped policy is its formula, and has no cliff where recency has one.
#include "residency/policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

namespace sluice {
namespace {

TEST(Policy, TheDefaultEvictsByItsFormula) {
  constexpr int kLayers = 7, kExperts = 9, kSlots = 30;
  const auto policy = make_policy("default", {kLayers, kExperts, kSlots});
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
      policy->requested(layer, std::vector<int>(experts.begin(), experts.end()));
      for (int expert : experts) {
        const ExpertKey key{layer, expert};
        if (std::ranges::find(key_of, key) != key_of.end()) continue;
        int slot = used;
        if (used < kSlots) {
          ++used;
        } else {
          std::vector<int> evictable;
          double furthest = -1;
          for (int other = 0; other < kSlots; ++other) {
            const ExpertKey held = key_of[static_cast<std::size_t>(other)];
            if (held.layer == layer && experts.contains(held.expert)) continue;
            evictable.push_back(other);
            furthest = std::max(furthest, distance(held, layer));
          }
          std::shuffle(evictable.begin(), evictable.end(), random);  // their order must not matter
          slot = policy->victim(evictable);
          ASSERT_NE(std::ranges::find(evictable, slot), evictable.end());
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
  const auto policy = make_policy(name, {kLayers, kExperts, kSlots});
  std::mt19937_64 random(2);
  std::vector<ExpertKey> key_of(kSlots, {-1, -1});
  int requests = 0, hits = 0, used = 0;
  for (int step = 0; step < 100; ++step)
    for (int layer = 0; layer < kLayers; ++layer) {
      std::set<int> experts;
      while (experts.size() < kTopK)
        experts.insert(static_cast<int>(random() % (1 + random() % (1 + random() % kExperts))));
      policy->requested(layer, std::vector<int>(experts.begin(), experts.end()));
      std::vector<int> evictable;
      for (int slot = 0; slot < kSlots; ++slot) {
        const ExpertKey held = key_of[static_cast<std::size_t>(slot)];
        if (held.layer != layer || !experts.contains(held.expert)) evictable.push_back(slot);
      }
      for (int expert : experts) {
        ++requests;
        if (std::ranges::find(key_of, ExpertKey{layer, expert}) != key_of.end()) {
          ++hits;
          continue;
        }
        const int slot = used < kSlots ? used++ : policy->victim(evictable);
        std::erase(evictable, slot);
        key_of[static_cast<std::size_t>(slot)] = {layer, expert};
        policy->filled(slot, {layer, expert});
      }
    }
  return static_cast<double>(hits) / requests;
}

TEST(Policy, TheDefaultHasNoCliff) {
  EXPECT_EQ(hit_share("lru"), 0);
  EXPECT_GT(hit_share("default"), 0.25);
}

TEST(Policy, UnknownNamesGiveNothing) {
  for (std::string_view name : policy_names()) EXPECT_NE(make_policy(name, {1, 1, 1}), nullptr);
  EXPECT_EQ(make_policy("clairvoyant", {1, 1, 1}), nullptr);
}

}  // namespace
}  // namespace sluice
