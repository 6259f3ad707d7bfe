// Preloading: everything comes once, nothing goes for it, whoever asks is served first, and it ends at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <thread>

#include "residency/expert_store.h"
#include "support/gated_files.h"
#include "support/scattered_experts.h"

namespace sluice {
namespace {

constexpr int kFewInFlight = 32;  // such small ones

// Does something when so many reads have been taken back.
class GiveBackQueue final : public ReadQueue {
 public:
  GiveBackQueue(ReadQueue& queue, int count, std::function<void()> then)
      : queue_(queue), left_(count), then_(std::move(then)) {}
  void submit(std::uint64_t tag, std::span<const Extent> extents, std::span<std::byte> slot, Urgency urgency,
              Landings& landings) override {
    queue_.submit(tag, extents, slot, urgency, landings);
  }
  void withdraw(std::uint64_t tag, const Landings& landings) override {
    queue_.withdraw(tag, landings);
    if (--left_ == 0) then_();
  }
  void hurry(std::uint64_t tag, const Landings& landings) override { queue_.hurry(tag, landings); }
  ReadStats stats() const override { return queue_.stats(); }
  const Files& files() const override { return queue_.files(); }

 private:
  ReadQueue& queue_;
  int left_;
  std::function<void()> then_;
};

class ExpertPreloadTest : public test::ScatteredExperts {
 protected:
  ExpertPreloadTest() : gate_(files_) {
    for (int layer = 0; layer < kLayers; ++layer)
      for (int expert = 0; expert < kExperts; ++expert) {
        all_.push_back({layer, expert});
        for (const Extent& extent : table_.layout(layer, expert).extents) all_bytes_ += extent.bytes;
      }
  }

  std::unique_ptr<ExpertStore> store(int slots, ReadQueue& queue, std::string_view policy = "default") {
    return make_expert_store(table_, slots, make_policy(policy, {kLayers, kExperts, slots}), queue);
  }
  static void finish(ExpertStore& store) {
    while (store.tend()) std::this_thread::yield();
  }
  test::GatedFiles gate_;
  std::vector<ExpertKey> all_;
  std::uint64_t all_bytes_ = 0;
};

TEST_F(ExpertPreloadTest, AfterwardsNothingIsReadAnyMore) {
  const auto queue = make_pread_queue(files_, 3);
  const auto store = this->store(kAll, *queue);
  store->preload(all_, PreloadPace::always);
  finish(*store);
  EXPECT_EQ(store->stats().preloaded_bytes, all_bytes_);
  EXPECT_EQ(queue->stats().requests, static_cast<std::uint64_t>(kAll));
  for (int layer = 0; layer < kLayers; ++layer)
    run_layer(*store, layer, std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 3);
  EXPECT_EQ(store->stats().bytes_read, all_bytes_);
  EXPECT_EQ(store->stats().hits, static_cast<std::uint64_t>(kAll));
  EXPECT_FALSE(store->tend());
}

// While a run goes on, at any pace of the disk and with any number of readers: each expert is read once.
TEST_F(ExpertPreloadTest, BesideARunEveryExpertIsReadOnceAndRight) {
  for (const int readers : {0, 1, 4})
    for (const int delay : {0, 200}) {
      files_.set_faults({.short_reads = 0.1, .longest_delay = std::chrono::microseconds(delay)});
      const auto queue = make_pread_queue(files_, readers);
      const auto store = this->store(kAll, *queue);
      store->preload(all_, PreloadPace::always);
      std::mt19937_64 random(static_cast<std::uint64_t>(readers + delay));
      for (int step = 0; step < 60; ++step) {
        if (step % 5 == 2) store->hint(step % kLayers, test::used_once(std::vector{1, 6, 9}));
        run_layer(*store, step % kLayers, step % 5 == 2 ? std::vector{1, 6, 9} : random_experts(random, 5), 2);
        if (step % 7 == 3) {  // given up half-way
          const auto fetch = store->fetch(step % kLayers, test::used_once(random_experts(random, 5)));
          fetch->next();
        }
      }
      finish(*store);
      for (int layer = 0; layer < kLayers; ++layer)
        run_layer(*store, layer, std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 0);
      // What a fetch gives up may be taken back and read again.
      EXPECT_LE(store->stats().bytes_read, all_bytes_ * 3 / 2) << readers << " readers";
      EXPECT_GE(store->stats().bytes_read, all_bytes_);
    }
}

// Fewer slots than experts: it stops where the slots do, and takes none from anybody, however few there are.
TEST_F(ExpertPreloadTest, OnlyEmptySlotsAreFilled) {
  for (const int slots : {1, 2, 3, 5, 8, 13, 30, kAll - 1})
    for (const std::string_view policy : policy_names()) {
      SCOPED_TRACE(testing::Message() << slots << " slots, " << policy);
      const auto queue = make_pread_queue(files_, 2);
      const auto store = this->store(slots, *queue, policy);
      std::mt19937_64 random(static_cast<std::uint64_t>(slots));
      const std::vector<int> first = random_experts(random, 4);
      run_layer(*store, 4, first, 0);  // resident if they fit
      const std::uint64_t before = queue->stats().requests;
      store->preload(all_, PreloadPace::always);
      const std::size_t most_held = slots > 3 ? 2 : static_cast<std::size_t>(slots - 1);
      if (static_cast<int>(first.size()) <= slots) {
        finish(*store);
        EXPECT_EQ(queue->stats().requests - before, static_cast<std::uint64_t>(slots) - first.size());
        const std::uint64_t hits = store->stats().hits;
        run_layer(*store, 4, first, most_held);
        EXPECT_EQ(store->stats().hits - hits, first.size());
      }
      for (int step = 0; step < 30; ++step) run_layer(*store, step % kLayers, random_experts(random, 9), most_held);
      const std::uint64_t preloaded = store->stats().preloaded_bytes;
      finish(*store);
      EXPECT_EQ(store->stats().preloaded_bytes, preloaded);  // there has been no empty slot since
    }
}

// All slots are in the hands of preloads that cannot land yet: a fetch waits for them and gets on.
TEST_F(ExpertPreloadTest, AFetchGetsSlotsThatPreloadsHold) {
  for (const int slots : {1, 3, kFewInFlight}) {
    gate_.close();
    const auto queue = make_pread_queue(gate_, 1);
    const auto store = this->store(slots, *queue);
    store->preload(all_, PreloadPace::always);
    std::thread opener([&] {
      std::this_thread::yield();
      gate_.open();
    });
    run_layer(*store, 4, std::vector{2, 5, 7, 11}, 0);
    opener.join();
    EXPECT_EQ(store->stats().hits, 0u);
  }
}

// One reader, one preload in its hands and others queued: what is asked for is read next, whether it was to be
// preloaded later or stands in the queue already.
TEST_F(ExpertPreloadTest, WhatIsAskedForOvertakes) {
  for (const ExpertKey asked : {ExpertKey{4, 3}, ExpertKey{0, 5}, ExpertKey{0, 0}}) {
    gate_.close();
    const std::size_t earlier = gate_.reads().size();
    {
      const auto queue = make_pread_queue(gate_, 1);
      const auto store = this->store(kAll, *queue);
      store->preload(all_, PreloadPace::always);
      while (gate_.reads().size() == earlier) std::this_thread::yield();
      EXPECT_EQ(queue->stats().requests, static_cast<std::uint64_t>(kFewInFlight));
      const int experts[] = {asked.expert};
      {
        const auto fetch = store->fetch(asked.layer, test::used_once(experts));
        gate_.open();
        ASSERT_TRUE(fetch->next().has_value());
      }
      EXPECT_EQ(store->stats().begun, asked.layer == 0 ? 1u : 0u);
      finish(*store);
      EXPECT_EQ(store->stats().bytes_read, all_bytes_);
    }
    // Between the first read and those of the expert that was asked for there is nothing.
    const std::vector<test::GatedFiles::Read> reads = gate_.reads();
    const std::vector<Extent> wanted = table_.layout(asked.layer, asked.expert).extents;
    const auto is_wanted = [&](const test::GatedFiles::Read& read) {
      return std::ranges::any_of(wanted, [&](const Extent& extent) {
        return extent.file == read.file && extent.offset < read.offset + read.bytes &&
               read.offset < extent.offset + extent.bytes;
      });
    };
    std::size_t count = earlier + 1;
    while (count < earlier + 1 + wanted.size() - (asked == all_.front() ? 1 : 0)) {
      EXPECT_TRUE(is_wanted(reads[count])) << "read " << count - earlier;
      ++count;
    }
  }
}

// What may turn out to be of no use waits until nobody asks for anything.
TEST_F(ExpertPreloadTest, WhenIdleMeansNotBesideRequests) {
  const auto queue = make_pread_queue(files_, 2);
  const auto store = this->store(kAll - 1, *queue);
  store->preload(all_, PreloadPace::when_idle);
  const std::uint64_t begun = store->stats().preloaded_bytes;
  EXPECT_EQ(begun, 0u);
  for (int step = 0; step < 40; ++step) run_layer(*store, step % kLayers, std::vector{1, 3, 11}, 1);
  EXPECT_EQ(store->stats().preloaded_bytes, begun);
  finish(*store);
  EXPECT_GT(store->stats().preloaded_bytes, begun);
}

TEST_F(ExpertPreloadTest, ItEndsAtOnce) {
  const auto queue = make_pread_queue(gate_, 2);
  GiveBackQueue watched(*queue, kFewInFlight, [&] { gate_.open(); });
  auto store = this->store(kAll, watched);
  store->preload(all_, PreloadPace::always);
  while (gate_.reads().size() < 2) std::this_thread::yield();
  store.reset();  // takes back all that has not begun; only then the two reads under way may come to their end
  EXPECT_EQ(gate_.reads().size(), 2u);
}

// What could not be preloaded is read when it is asked for, and only then does anybody hear of it.
TEST_F(ExpertPreloadTest, AFailedReadIsForgotten) {
  const auto queue = make_pread_queue(files_, 2);
  const auto store = this->store(kAll, *queue);
  files_.set_faults({.failing_reads = 1});
  store->preload(all_, PreloadPace::always);
  finish(*store);
  {
    const int experts[] = {3};
    const auto fetch = store->fetch(2, test::used_once(experts));
    const auto ready = fetch->next();
    ASSERT_FALSE(ready.has_value());
    EXPECT_NE(ready.error().what.find("layer 2 expert 3"), std::string::npos) << ready.error().what;
  }
  files_.set_faults({});
  for (int layer = 0; layer < kLayers; ++layer) run_layer(*store, layer, std::vector{0, 3, 11}, 1);
}

}  // namespace
}  // namespace sluice
