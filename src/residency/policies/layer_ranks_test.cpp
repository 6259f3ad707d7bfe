// The ranking by layers names the slot that a look at all of them would.
#include "residency/policies/layer_ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace sluice {
namespace {

constexpr int kRankedLayers = 6, kRankedExperts = 10;

struct World {
  int now = 0;
  double values[kRankedLayers][kRankedExperts] = {};
  double score(int layer, double value) const {
    return layers_until(layer, now, kRankedLayers) + kRankedLayers * (5 - value);
  }
  double score(ExpertKey key) const { return score(key.layer, values[key.layer][key.expert]); }

  // By looking at every slot that may go.
  template <class Slots>
  int worst(const std::map<int, ExpertKey>& held, const Slots& may_go) const {
    int chosen = -1;
    for (const auto& [slot, key] : held) {
      if (!may_go.contains(slot)) continue;
      if (chosen < 0) {
        chosen = slot;
        continue;
      }
      const ExpertKey best = held.at(chosen);
      const double mine = score(key), its = score(best);
      if (mine > its || (mine == its && std::pair(key.layer, key.expert) < std::pair(best.layer, best.expert)))
        chosen = slot;
    }
    return chosen;
  }
};

bool is_held(const std::map<int, ExpertKey>& held, ExpertKey key) {
  return std::ranges::any_of(held, [&](const auto& one) { return one.second == key; });
}
int count_of(const std::map<int, ExpertKey>& held, int layer) {
  return static_cast<int>(std::ranges::count_if(held, [&](const auto& one) { return one.second.layer == layer; }));
}

TEST(LayerRanks, NamesTheWorstOfAllThatMayGo) {
  std::mt19937_64 random(1);
  for (const int slots : {1, 2, 7, 40}) {
    World world;
    LayerRanks ranks(kRankedLayers);
    std::map<int, ExpertKey> held;
    for (int request = 0; request < 600; ++request) {
      world.now = request % kRankedLayers;
      for (double& value : world.values[world.now]) value = static_cast<double>(random() % 5);  // ties are common
      ranks.requested(world.now);
      // Some of the slots are in use; what the request brings in is too.
      std::set<int> free;
      for (const auto& [slot, key] : held)
        if (random() % 4 != 0) free.insert(slot);
      for (int miss = 0; miss < 3 && count_of(held, world.now) < kRankedExperts; ++miss) {
        int slot = static_cast<int>(held.size());
        if (slot == slots) {
          if (free.empty()) break;
          slot = ranks.victim([&](int one) { return free.contains(one); },
                              [&](ExpertKey key) { return world.values[key.layer][key.expert]; },
                              [&](int layer, double value) { return world.score(layer, value); });
          ASSERT_EQ(slot, world.worst(held, free)) << "request " << request;
          free.erase(slot);
        } else if (!held.empty() && random() % 8 == 0) {
          slot = held.begin()->first;  // what was read into it failed, and it is filled anew
          free.erase(slot);
        }
        held.erase(slot);
        int expert = static_cast<int>(random() % kRankedExperts);
        while (is_held(held, {world.now, expert})) expert = (expert + 1) % kRankedExperts;
        held[slot] = {world.now, expert};
        ranks.filled(slot, held[slot]);
      }
    }
  }
}

TEST(LayerRanks, NewcomersGoWhenNothingElseMay) {
  LayerRanks ranks(2);
  const auto value = [](ExpertKey key) { return double(key.expert); };
  const auto score = [](int layer, double worth) { return layer - worth; };
  ranks.requested(0);
  ranks.filled(0, {0, 5});
  ranks.filled(1, {0, 9});
  ranks.requested(1);
  EXPECT_EQ(ranks.victim([](int slot) { return slot == 1; }, value, score), 1);
  ranks.filled(1, {1, 1});
  EXPECT_EQ(ranks.victim([](int slot) { return slot == 1; }, value, score), 1);  // slot 0 is in use, 1 no longer
  ranks.filled(1, {1, 2});
  ranks.requested(0);
  EXPECT_EQ(ranks.victim([](int) { return true; }, value, score), 1);  // score -1 against -5
}

}  // namespace
}  // namespace sluice
