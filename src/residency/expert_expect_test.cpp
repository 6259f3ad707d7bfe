// Expected experts: demand never stands behind them, what comes true is taken over, what does not costs a read at most.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "residency/expert_store.h"
#include "support/gated_files.h"
#include "support/scattered_experts.h"

namespace sluice {
namespace {

class ExpertExpectTest : public test::ScatteredExperts {
 protected:
  ExpertExpectTest() : gate_(files_) {}
  std::unique_ptr<ExpertStore> store(int slots, ReadQueue& queue, std::string_view policy = "default") {
    return make_expert_store(table_, slots, make_policy(policy, {kLayers, kExperts, slots}), queue);
  }
  bool is_of(const test::GatedFiles::Read& read, ExpertKey key) const {
    return std::ranges::any_of(table_.layout(key.layer, key.expert).extents, [&](const Extent& extent) {
      return extent.file == read.file && extent.offset < read.offset + read.bytes &&
             read.offset < extent.offset + extent.bytes;
    });
  }
  test::GatedFiles gate_;
};

TEST_F(ExpertExpectTest, WhatComesTrueIsReadOnce) {
  const auto queue = make_pread_queue(files_, 2);
  const auto store = this->store(20, *queue);
  store->expect(3, std::vector{7, 1});
  run_layer(*store, 3, std::vector{1, 5, 7}, 0);
  EXPECT_EQ(queue->stats().requests, 3u);
  EXPECT_EQ(store->stats().expected, 2u);
  EXPECT_EQ(store->stats().expected_rightly, 2u);
  EXPECT_EQ(store->stats().surplus_bytes, 0u);
  store->expect(3, std::vector{1, 5, 7});  // there already
  EXPECT_EQ(store->stats().expected, 2u);
}

// One reader, an expected expert in its hands and others queued: what is asked for is read next, and what was expected
// wrongly and has not begun is never read.
TEST_F(ExpertExpectTest, DemandOvertakesAndTakesTheWrongOnesBack) {
  gate_.close();
  {
    const auto queue = make_pread_queue(gate_, 1);
    const auto store = this->store(20, *queue);
    store->expect(2, std::vector{0, 1, 2, 3, 4});
    while (gate_.reads().empty()) std::this_thread::yield();
    {
      const auto fetch = store->fetch(2, test::used_once(std::vector{3, 9}));
      gate_.open();
      for (int expert = 0; expert < 2; ++expert) {
        const auto ready = fetch->next();
        ASSERT_TRUE(ready.has_value() && ready->has_value());
        EXPECT_TRUE(right(2, **ready));
      }
    }
    EXPECT_EQ(store->stats().expected, 5u);
    EXPECT_EQ(store->stats().expected_rightly, 1u);
    std::uint64_t surplus = 0;
    for (const int wrong : {0, 1, 2, 4})
      for (const Extent& extent : table_.layout(2, wrong).extents) surplus += extent.bytes;
    EXPECT_EQ(store->stats().surplus_bytes, surplus);
    EXPECT_EQ(store->stats().begun, 1u);
    run_layer(*store, 2, std::vector{1, 2, 4}, 0);  // they were taken back, and come
  }
  // The first read is of what was expected first; behind what was in hand come the two that were asked for alone.
  const std::vector<test::GatedFiles::Read> reads = gate_.reads();
  EXPECT_TRUE(is_of(reads[0], {2, 0}));
  const std::size_t asked = table_.layout(2, 3).extents.size() + table_.layout(2, 9).extents.size();
  for (std::size_t read = 1; read < 1 + asked; ++read)
    EXPECT_TRUE(is_of(reads[read], {2, 3}) || is_of(reads[read], {2, 9})) << "read " << read;
}

// The same for a request of another layer, which takes back nothing.
TEST_F(ExpertExpectTest, DemandOvertakesWhatAnotherLayerMayNeed) {
  gate_.close();
  {
    const auto queue = make_pread_queue(gate_, 1);
    const auto store = this->store(20, *queue);
    store->expect(2, std::vector{0, 1, 2});
    while (gate_.reads().empty()) std::this_thread::yield();
    const auto fetch = store->fetch(3, test::used_once(std::vector{9}));
    gate_.open();
    ASSERT_TRUE(fetch->next().has_value());
  }
  const std::vector<test::GatedFiles::Read> reads = gate_.reads();
  for (std::size_t read = 1; read < 1 + table_.layout(3, 9).extents.size(); ++read)
    EXPECT_TRUE(is_of(reads[read], {3, 9})) << "read " << read;
}

// What was taken back while it was read is asked for before anybody has heard of its end.
TEST_F(ExpertExpectTest, WhatWasTakenBackCanBeAskedForAtOnce) {
  int cut = 0;  // of several reads, so that some can be taken back while one is under way
  while (table_.layout(2, cut).extents.size() == 1) ++cut;
  const int other = (cut + 1) % kExperts;
  gate_.close();
  const auto queue = make_pread_queue(gate_, 1);
  const auto store = this->store(20, *queue);
  store->expect(2, std::vector{cut});
  while (gate_.reads().empty()) std::this_thread::yield();
  store->fetch(2, test::used_once(std::vector{other}));  // given up at once
  const auto fetch = store->fetch(2, test::used_once(std::vector{cut}));
  gate_.open();
  const auto ready = fetch->next();
  ASSERT_TRUE(ready.has_value() && ready->has_value());
  EXPECT_TRUE(right(2, **ready));
}

// Whatever is expected, rightly or wrongly, however few slots there are: every byte is right.
TEST_F(ExpertExpectTest, EveryByteIsRightWhateverIsExpected) {
  for (const int slots : {1, 2, 3, 5, 13, kAll})
    for (const std::string_view policy : {"default", "lru"})
      for (const int readers : {0, 2}) {
        SCOPED_TRACE(testing::Message() << slots << " slots, " << policy << ", " << readers << " readers");
        files_.set_faults({.short_reads = 0.1, .longest_delay = std::chrono::microseconds(readers > 0 ? 50 : 0)});
        const auto queue = make_pread_queue(files_, readers);
        const auto store = this->store(slots, *queue, policy);
        std::mt19937_64 random(static_cast<std::uint64_t>(slots));
        const std::size_t most_held = slots > 3 ? 2 : static_cast<std::size_t>(slots - 1);
        for (int step = 0; step < 40; ++step) {
          const std::vector<int> asked = random_experts(random, 6);
          std::vector<int> named = random_experts(random, 6);
          if (random() % 2 == 0) named = asked;
          if (step % 4 != 3) store->expect(step % kLayers, named);
          if (step % 7 == 6) store->expect((step + 1) % kLayers, random_experts(random, 3));
          run_layer(*store, step % kLayers, asked, most_held);
          if (step % 11 == 5) {  // given up half-way
            const auto fetch = store->fetch(step % kLayers, test::used_once(random_experts(random, 5)));
            ASSERT_TRUE(fetch->next().has_value());
          }
        }
      }
}

// Residents that are named stay; the others go as the policy says.
TEST_F(ExpertExpectTest, NamedResidentsStay) {
  const auto queue = make_pread_queue(files_, 2);
  const auto store = this->store(4, *queue, "lru");
  run_layer(*store, 1, std::vector{0, 1, 2, 3}, 0);
  store->expect(1, std::vector{8, 0, 9, 1});  // least recently used are 0 and 1
  const std::uint64_t hits = store->stats().hits;
  run_layer(*store, 1, std::vector{0, 1}, 0);
  EXPECT_EQ(store->stats().hits - hits, 2u);
}

TEST_F(ExpertExpectTest, AFailedReadIsForgotten) {
  const auto queue = make_pread_queue(files_, 0);
  const auto store = this->store(20, *queue);
  files_.set_faults({.failing_reads = 1});
  store->expect(2, std::vector{3, 4});
  files_.set_faults({});
  run_layer(*store, 0, std::vector{1}, 0);  // nobody asked for them: nobody hears of it
  run_layer(*store, 2, std::vector{3, 4}, 1);
}

}  // namespace
}  // namespace sluice
