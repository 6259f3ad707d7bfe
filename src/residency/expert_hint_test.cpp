// Hints: reads begin before they are asked for, take nothing that is in use, and change nothing but the time of
// reading.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>

#include "residency/expert_store.h"
#include "residency/replay.h"
#include "support/scattered_experts.h"

namespace sluice {
namespace {

constexpr int kHinted = 3;  // layers 0 to 2 of a pass are hinted

using Pass = std::vector<std::vector<int>>;  // experts by layer

class ExpertHintTest : public test::ScatteredExperts {
 protected:
  ExpertHintTest()
      : ScatteredExperts({.short_reads = 0.1, .longest_delay = std::chrono::microseconds(60)}),
        queue_(make_pread_queue(files_, 4)) {}
  std::unique_ptr<ExpertStore> store(int slots) {
    return make_expert_store(table_, slots, make_policy("default", {kLayers, kExperts, slots}), *queue_);
  }
  std::uint64_t bytes_of(int layer, std::span<const int> experts) const {
    std::uint64_t bytes = 0;
    for (const int expert : experts)
      for (const Extent& extent : table_.layout(layer, expert).extents) bytes += extent.bytes;
    return bytes;
  }
  static std::vector<Pass> random_passes(int count, int widest, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<Pass> passes;
    for (int number = 0; number < count; ++number) {
      Pass& pass = passes.emplace_back();
      for (int layer = 0; layer < kLayers; ++layer) {
        std::set<int> experts;
        for (std::uint64_t draws = 1 + random() % static_cast<std::uint64_t>(widest); draws > 0; --draws) {
          const std::uint64_t below = 1 + random() % kExperts;  // so that low numbers are in more use
          experts.insert(static_cast<int>(random() % below));
        }
        pass.emplace_back(experts.begin(), experts.end());
      }
    }
    return passes;
  }
  void hint(ExpertStore& store, const Pass& pass) {
    for (int layer = 0; layer < kHinted; ++layer)
      store.hint(layer, test::used_once(pass[static_cast<std::size_t>(layer)]));
  }

  std::unique_ptr<ReadQueue> queue_;
};

TEST_F(ExpertHintTest, ReadsHaveBegunBeforeTheyAreAskedFor) {
  const auto store = this->store(20);
  const Pass pass = {{1, 4}, {0, 4, 7}, {11}, {2, 3}, {5}};
  run_layer(*store, 1, std::vector{4}, 0);  // resident from here on
  const std::uint64_t before = store->stats().bytes_read, requests_before = queue_->stats().requests;
  hint(*store, pass);
  EXPECT_EQ(store->stats().bytes_read - before,
            bytes_of(0, pass[0]) + bytes_of(1, std::vector{0, 7}) + bytes_of(2, pass[2]));
  EXPECT_EQ(queue_->stats().requests - requests_before, 2u + 2 + 1);
  EXPECT_EQ(store->stats().requests, 1u);  // nobody has asked yet
  for (int layer = 0; layer < kHinted; ++layer) run_layer(*store, layer, pass[static_cast<std::size_t>(layer)], 0);
  EXPECT_EQ(queue_->stats().requests - requests_before, 5u);
  EXPECT_EQ(store->stats().requests, 1u + 6);
  EXPECT_EQ(store->stats().hits, 1u);
  EXPECT_EQ(store->stats().begun, 5u);
  run_layer(*store, 3, pass[3], 0);
  EXPECT_EQ(store->stats().begun, 5u);
  hint(*store, pass);  // everything is resident by now
  EXPECT_EQ(queue_->stats().requests - requests_before, 7u);
}

TEST_F(ExpertHintTest, WithAnyNumberOfSlotsEveryByteIsRight) {
  for (const int slots : {1, 2, 3, 4, 5, 7, 13, 25, kLayers * kExperts})
    for (const int widest : {2, 5, kExperts}) {
      SCOPED_TRACE(testing::Message() << slots << " slots, " << widest << " experts");
      const auto store = this->store(slots);
      for (const Pass& pass : random_passes(8, widest, static_cast<std::uint64_t>(slots))) {
        hint(*store, pass);
        for (int layer = 0; layer < kLayers; ++layer)
          run_layer(*store, layer, pass[static_cast<std::size_t>(layer)],
                    slots > 3 ? 2 : static_cast<std::size_t>(slots - 1));
      }
      EXPECT_TRUE(slots > 1 || store->stats().begun > 0);
    }
}

// Where there is room for more than what a pass hints at, hints cost hardly a hit: the policy, which hears of a hinted
// layer earlier than it would otherwise, now and then lets another expert go.
TEST_F(ExpertHintTest, HitsAreNearlyThoseOfARunWithoutHints) {
  for (const int slots : {25, 40, kLayers * kExperts})
    for (const std::uint64_t seed : {5u, 6u, 7u, 8u}) {
      const auto hinted = store(slots), plain = store(slots);
      for (const Pass& pass : random_passes(30, 4, seed)) {
        hint(*hinted, pass);
        for (int layer = 0; layer < kLayers; ++layer) {
          run_layer(*hinted, layer, pass[static_cast<std::size_t>(layer)], 0);
          run_layer(*plain, layer, pass[static_cast<std::size_t>(layer)], 0);
          if (slots == kLayers * kExperts) {  // nothing is ever let go
            ASSERT_EQ(hinted->stats().hits, plain->stats().hits);
          }
        }
      }
      EXPECT_NEAR(static_cast<double>(hinted->stats().hits), static_cast<double>(plain->stats().hits),
                  0.02 * static_cast<double>(plain->stats().requests));
      EXPECT_EQ(hinted->stats().requests, plain->stats().requests);
      if (slots == kLayers * kExperts) {
        EXPECT_EQ(hinted->stats().bytes_read, plain->stats().bytes_read);
      }
      EXPECT_GT(hinted->stats().begun, 20u);
      EXPECT_EQ(plain->stats().begun, 0u);
    }
}

// What stays resident follows from requests and hints, not from the order in which reads land.
TEST_F(ExpertHintTest, HitsDoNotDependOnTheDisk) {
  for (const int slots : {2, 5, 9, 20}) {
    std::set<std::uint64_t> hits;
    for (const int readers : {0, 1, 4})
      for (const int delay : {0, 300}) {
        files_.set_faults({.longest_delay = std::chrono::microseconds(delay)});
        const auto queue = make_pread_queue(files_, readers);
        const auto store = make_expert_store(table_, slots, make_policy("default", {kLayers, kExperts, slots}), *queue);
        for (const Pass& pass : random_passes(12, 5, 8)) {
          hint(*store, pass);
          for (int layer = 0; layer < kLayers; ++layer)
            run_layer(*store, layer, pass[static_cast<std::size_t>(layer)], 0);
        }
        hits.insert(store->stats().hits);
      }
    EXPECT_EQ(hits.size(), 1u) << slots << " slots";
  }
}

// Wrong hints, hints of a pass that is given up, fetches given up in the middle, reads that fail: what is asked for
// comes, and comes right.
TEST_F(ExpertHintTest, HintsMayTurnOutWrong) {
  std::mt19937_64 random(3);
  for (const int slots : {1, 2, 4, 8, 30}) {
    const auto store = this->store(slots);
    for (const Pass& pass : random_passes(40, 6, static_cast<std::uint64_t>(slots))) {
      files_.set_faults({.short_reads = 0.1,
                         .failing_reads = random() % 3 == 0 ? 0.2 : 0,
                         .longest_delay = std::chrono::microseconds(60),
                         .seed = random()});
      const Pass other = random() % 3 == 0 ? random_passes(1, 6, random())[0] : pass;
      hint(*store, other);
      const int given_up_at = random() % 2 == 0 ? static_cast<int>(random() % kLayers) : kLayers;
      for (int layer = 0; layer < given_up_at; ++layer) {
        const std::vector<int>& experts = pass[static_cast<std::size_t>(layer)];
        const auto fetch = store->fetch(layer, test::used_once(experts));
        for (std::uint64_t count = random() % 9; count > 0; --count) {
          Result<std::optional<ReadyExpert>> ready = fetch->next();
          if (!ready) {
            EXPECT_EQ(ready.error().kind, ErrorKind::io);
            EXPECT_NE(ready.error().what.find("layer " + std::to_string(layer) + " expert "), std::string::npos);
            break;
          }
          if (!*ready) break;
          EXPECT_TRUE(right(layer, **ready));
        }
      }
      files_.set_faults({});
      run_layer(*store, kLayers - 1, pass[kLayers - 1], 0);
    }
  }
}

// A slot that comes free is the first hint's that lacks one: else its fetch could never go on.
TEST_F(ExpertHintTest, AnEarlierHintGetsTheSlots) {
  for (const int again : {3, 4})  // the second hint finds its expert resident, or not
    for (const bool early : {true, false}) {
      const auto store = this->store(1);
      std::optional<ReadyExpert> kept;
      {
        const auto fetch = store->fetch(4, test::used_once(std::vector{3}));
        kept = *fetch->next();
      }
      store->hint(1, test::used_once(std::vector{7}));
      if (early) kept.reset();
      store->hint(4, test::used_once(std::vector{again}));
      kept.reset();
      run_layer(*store, 1, std::vector{7}, 0);
      run_layer(*store, 4, std::vector{again}, 0);
    }
}

TEST_F(ExpertHintTest, AHintIsForItsLayerAndItsExperts) {
  const auto store = this->store(10);
  store->hint(0, test::used_once(std::vector{3}));
  run_layer(*store, 1, std::vector{3}, 0);
  store->hint(0, test::used_once(std::vector{5}));
  run_layer(*store, 0, std::vector{6}, 0);
  EXPECT_EQ(store->stats().begun, 0u);
}

// A failed read of a hint is told by the fetch, once, and read again when it is asked for again.
TEST_F(ExpertHintTest, AFailedReadIsToldWhenItIsAskedFor) {
  const auto store = this->store(10);
  files_.set_faults({.failing_reads = 1});
  store->hint(0, test::used_once(std::vector{3}));
  {
    const auto fetch = store->fetch(0, test::used_once(std::vector{3}));
    const Result<std::optional<ReadyExpert>> ready = fetch->next();
    ASSERT_FALSE(ready.has_value());
    EXPECT_NE(ready.error().what.find("layer 0 expert 3"), std::string::npos) << ready.error().what;
  }
  files_.set_faults({});
  run_layer(*store, 0, std::vector{3}, 0);
}

}  // namespace
}  // namespace sluice
