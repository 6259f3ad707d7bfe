// A cache that shrinks and grows between requests: every byte stays right, what went is read again, and the memory of
// slots that went is the system's.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>

#include "residency/resizable_store.h"
#include "support/scattered_experts.h"

namespace sluice {
namespace {

class ExpertResizeTest : public test::ScatteredExperts {
 protected:
  ExpertResizeTest()
      : ScatteredExperts({.longest_delay = std::chrono::microseconds(60)}), queue_(make_pread_queue(files_, 3)) {}

  std::unique_ptr<ResizableStore> store(int slots) {
    return make_resizable_store(table_, slots, make_policy("default", {kLayers, kExperts, slots}), *queue_);
  }
  std::unique_ptr<ReadQueue> queue_;
};

TEST_F(ExpertResizeTest, WhateverTheSizesEveryByteIsRight) {
  for (const int slots : {1, 4, 13, 30, kAll})
    for (const bool preload : {false, true}) {
      SCOPED_TRACE(testing::Message() << slots << " slots");
      const auto store = this->store(slots);
      std::vector<ExpertKey> all;
      for (int expert = 0; expert < kAll; ++expert) all.push_back({expert / kExperts, expert % kExperts});
      if (preload) store->preload(all, PreloadPace::always);
      std::mt19937_64 random(static_cast<std::uint64_t>(slots));
      int limit = slots;
      for (int step = 0; step < 120; ++step) {
        const int layer = step % kLayers;
        const std::vector<int> experts = random_experts(random, 7);
        const bool hinted = random() % 4 == 0;
        if (hinted) store->hint(layer, test::used_once(experts));
        if (random() % 4 == 0) {  // also between a hint and its fetch
          limit = 1 + static_cast<int>(random() % static_cast<std::uint64_t>(slots));
          store->resize(limit);
          EXPECT_EQ(store->slots(), limit);
          EXPECT_LE(store->filled(), limit);
          if (preload && random() % 2 == 0) store->preload(all, PreloadPace::always);
        }
        run_layer(*store, layer, experts, 0);
        EXPECT_LE(store->filled(), limit);
      }
      store->resize(slots + 7);
      EXPECT_EQ(store->slots(), slots);
    }
}

// What the policy values stays: with half of the slots the experts in use are still there.
TEST_F(ExpertResizeTest, WhatIsInUseStays) {
  for (const int slots : {20, kAll}) {  // with all resident the policy knew nothing before
    const auto store = this->store(slots);
    for (int step = 0; step < 40; ++step)
      for (int layer = 0; layer < kLayers; ++layer) run_layer(*store, layer, std::vector{2, 7}, 0);
    for (int layer = 0; layer < kLayers; ++layer) run_layer(*store, layer, std::vector{2, 5, 7}, 0);
    for (int step = 0; step < 6; ++step)
      for (int layer = 0; layer < kLayers; ++layer) run_layer(*store, layer, std::vector{2, 7}, 0);
    store->resize(12);
    for (int step = 0; step < 3; ++step)  // a policy that was told nothing has to learn
      for (int layer = 0; layer < kLayers; ++layer) run_layer(*store, layer, std::vector{2, 7}, 0);
    const std::uint64_t before = store->stats().bytes_read;
    for (int layer = 0; layer < kLayers; ++layer) run_layer(*store, layer, std::vector{2, 7}, 0);
    EXPECT_EQ(store->stats().bytes_read, before) << slots;
    EXPECT_EQ(store->filled(), 12);
  }
}

}  // namespace
}  // namespace sluice
