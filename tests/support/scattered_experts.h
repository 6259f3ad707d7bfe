// Five layers of twelve experts in memory, and a fixture that fetches from a store of them and looks at every byte.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "residency/expert_store.h"
#include "support/expert_uses.h"
#include "support/memory_files.h"
#include "support/random_blocks.h"

namespace sluice::test {

class ScatteredExperts : public testing::Test {
 protected:
  static constexpr int kLayers = 5, kExperts = 12, kAll = kLayers * kExperts;

  explicit ScatteredExperts(const Faults& faults = {})
      : files_(true, faults),
        blocks_(scatter_blocks(files_, kAll, 6'000, 11)),
        table_(table_of(blocks_, kLayers, kExperts)) {}

  bool right(int layer, const ReadyExpert& ready) {
    return shows(ready.weights, blocks_[static_cast<std::size_t>(layer * kExperts + ready.expert)], files_);
  }
  // Fetches a layer, looks at every byte, and holds on to a few leases meanwhile.
  void run_layer(ExpertStore& store, int layer, std::span<const int> experts, std::size_t most_held) {
    const auto fetch = store.fetch(layer, used_once(experts));
    std::vector<int> seen;
    std::vector<ReadyExpert> held;
    while (true) {
      Result<std::optional<ReadyExpert>> ready = fetch->next();
      ASSERT_TRUE(ready.has_value()) << ready.error().what;
      if (!*ready) break;
      seen.push_back((*ready)->expert);
      held.push_back(std::move(**ready));
      for (const ReadyExpert& one : held) EXPECT_TRUE(right(layer, one));
      while (held.size() > most_held) held.erase(held.begin());
    }
    std::ranges::sort(seen);
    EXPECT_TRUE(std::ranges::equal(seen, experts));
  }
  // At least one, at most `widest`, ascending.
  static std::vector<int> random_experts(std::mt19937_64& random, int widest) {
    std::set<int> experts;
    for (std::uint64_t draws = 1 + random() % static_cast<std::uint64_t>(widest); draws > 0; --draws)
      experts.insert(static_cast<int>(random() % kExperts));
    return {experts.begin(), experts.end()};
  }

  MemoryFiles files_;
  std::vector<ScatteredBlock> blocks_;
  ExpertTable table_;
};

}  // namespace sluice::test
