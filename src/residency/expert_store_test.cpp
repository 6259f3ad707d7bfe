// Random requests, capacities, delays and failures: a lease always shows the bytes on disk, and misses equal those of
// the policy replayed alone.
#include "residency/expert_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "residency/replay.h"
#include "support/expert_uses.h"
#include "support/random_blocks.h"

namespace sluice {
namespace {

constexpr int kStoreLayers = 5, kStoreExperts = 12;

struct LayerRequest {
  int layer;
  std::vector<int> experts;
};

// Steps through the layers; low experts are more frequent, as routers do.
std::vector<LayerRequest> random_requests(int steps, int widest, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<LayerRequest> trace;
  for (int step = 0; step < steps; ++step)
    for (int layer = 0; layer < kStoreLayers; ++layer) {
      std::set<int> experts;
      for (std::uint64_t draws = 1 + random() % static_cast<std::uint64_t>(widest); draws > 0; --draws)
        experts.insert(static_cast<int>(random() % (1 + random() % kStoreExperts)));
      trace.push_back({layer, {experts.begin(), experts.end()}});
    }
  return trace;
}

Trace trace_of(const std::vector<LayerRequest>& requests) {
  Trace trace;
  trace.layers = kStoreLayers;
  trace.experts = kStoreExperts;
  trace.layer_bytes.assign(kStoreLayers, 1);
  for (const LayerRequest& request : requests)
    trace.lines.push_back({.decode = true, .layer = request.layer, .uses = test::used_once(request.experts)});
  return trace;
}

class ExpertStoreTest : public testing::Test {
 protected:
  ExpertStoreTest()
      : files_(true, {.short_reads = 0.1, .longest_delay = std::chrono::microseconds(60)}),
        blocks_(test::scatter_blocks(files_, kStoreLayers * kStoreExperts, 6'000, 11)),
        table_(test::table_of(blocks_, kStoreLayers, kStoreExperts)),
        queue_(make_pread_queue(files_, 4)) {}

  std::unique_ptr<ExpertStore> store(int slots, std::string_view policy = "default") {
    return make_expert_store(table_, slots, make_policy(policy, {kStoreLayers, kStoreExperts, slots}), *queue_);
  }
  const test::ScatteredBlock& block(int layer, int expert) const {
    return blocks_[static_cast<std::size_t>(layer * kStoreExperts + expert)];
  }

  test::MemoryFiles files_;
  std::vector<test::ScatteredBlock> blocks_;
  ExpertTable table_;
  std::unique_ptr<ReadQueue> queue_;
};

TEST_F(ExpertStoreTest, EveryLeaseShowsTheBytesOnDiskAndMissesEqualTheReplay) {
  for (std::string_view policy : policy_names())
    for (int slots : {1, 2, 3, 5, 13, 30, kStoreLayers * kStoreExperts}) {
      SCOPED_TRACE(testing::Message() << policy << ", " << slots << " slots");
      const auto store = this->store(slots, policy);
      const std::vector<LayerRequest> asked = random_requests(12, kStoreExperts, static_cast<std::uint64_t>(slots));
      const Trace trace = trace_of(asked);
      const ReplayCounts replayed = replay_in_slots(trace, *make_policy(policy, shape_of(trace, slots)), slots);
      std::uint64_t requests = 0;
      for (const LayerRequest& request : asked) {
        requests += request.experts.size();
        std::set<int> expected(request.experts.begin(), request.experts.end());
        const auto fetch = store->fetch(request.layer, test::used_once(request.experts));
        while (true) {
          auto ready = fetch->next();
          ASSERT_TRUE(ready.has_value()) << ready.error().what;
          if (!*ready) break;
          EXPECT_EQ(expected.erase((*ready)->expert), 1u);
          EXPECT_TRUE(test::shows((*ready)->weights, block(request.layer, (*ready)->expert), files_));
        }
        EXPECT_TRUE(expected.empty());
      }
      EXPECT_EQ(store->stats().requests, requests);
      EXPECT_EQ(replayed.requests, requests);
      EXPECT_EQ(store->stats().hits, replayed.hits);
      const std::uint64_t misses = requests - store->stats().hits;
      EXPECT_TRUE(slots < kStoreLayers * kStoreExperts || misses <= kStoreLayers * kStoreExperts);  // each is read once
    }
}

// A recorded trace of 36 layers with 128 experts each, every request as the run made it.
TEST(ExpertStoreTrace, ARecordedTraceMissesWhatItsReplayMisses) {
  const Result<Trace> trace = read_trace(SLUICE_SOURCE_DIR "/tests/traces/gpt_oss_head.trace");
  ASSERT_TRUE(trace.has_value()) << trace.error().what;
  test::MemoryFiles files(false, {});
  const std::vector<test::ScatteredBlock> blocks = test::scatter_blocks(files, trace->layers * trace->experts, 600, 5);
  const ExpertTable table = test::table_of(blocks, trace->layers, trace->experts);
  const std::unique_ptr<ReadQueue> queue = make_pread_queue(files, 2);
  for (const std::string_view policy : policy_names())
    for (const int slots : {20, 81, 400}) {
      SCOPED_TRACE(testing::Message() << policy << ", " << slots << " slots");
      const auto store = make_expert_store(table, slots, make_policy(policy, shape_of(*trace, slots)), *queue);
      for (const TraceLine& line : trace->lines) {
        const auto fetch = store->fetch(line.layer, line.uses);
        while (true) {
          auto ready = fetch->next();
          ASSERT_TRUE(ready.has_value()) << ready.error().what;
          if (!*ready) break;
        }
      }
      const ReplayCounts replayed = replay_in_slots(*trace, *make_policy(policy, shape_of(*trace, slots)), slots);
      EXPECT_EQ(store->stats().requests, replayed.requests);
      EXPECT_EQ(store->stats().hits, replayed.hits);
      EXPECT_TRUE(replayed.hits > 0 || policy == "lru");
    }
}

// Fails the test when it is asked to choose; counts what it is told.
class WatchedPolicy final : public EvictionPolicy {
 public:
  explicit WatchedPolicy(int& calls) : calls_(calls) {}
  void requested(int, std::span<const ExpertUse>) override { ++calls_; }
  void filled(int, ExpertKey) override { ++calls_; }
  int victim(FunctionRef<bool(int)>) override {
    ADD_FAILURE() << "something was to be evicted";
    return 0;
  }

 private:
  int& calls_;
};

// Layer 0 has no experts, as the first layers of some models: slots for the others are slots for all.
TEST_F(ExpertStoreTest, WhereEveryExpertHasASlotNoPolicyIsKept) {
  ExpertTable table(kStoreLayers, kStoreExperts);
  for (int layer = 1; layer < kStoreLayers; ++layer)
    for (int expert = 0; expert < kStoreExperts; ++expert) table.set(layer, expert, block(layer, expert).layout);
  for (const int slots : {table.count() - 1, table.count(), table.count() + 1}) {
    int calls = 0;
    const auto store = make_expert_store(table, slots, std::make_unique<WatchedPolicy>(calls), *queue_);
    for (int step = 0; step < 12; ++step)
      for (int number = 0; number < table.count(); ++number) {
        const ExpertKey key{1 + number / kStoreExperts, number % kStoreExperts};
        if (number == slots) continue;  // without a slot for it
        files_.set_faults({.failing_reads = 0.05, .seed = static_cast<std::uint64_t>(step * 1000 + number)});
        const int experts[] = {key.expert};
        const auto fetch = store->fetch(key.layer, test::used_once(experts));
        const auto ready = fetch->next();
        if (!ready) continue;  // its slot is empty again
        EXPECT_TRUE(test::shows((*ready)->weights, block(key.layer, key.expert), files_));
      }
    EXPECT_GT(store->stats().hits, 100u);
    EXPECT_EQ(calls > 0, slots < table.count()) << slots;
  }
}

TEST_F(ExpertStoreTest, HeldLeasesKeepTheirBytesWhileOthersComeAndGo) {
  constexpr int kSlots = 4;
  const auto store = this->store(kSlots);
  std::mt19937_64 random(5);
  struct Held {
    int layer, expert;
    Lease weights;
  };
  std::vector<Held> held;
  for (const LayerRequest& request : random_requests(40, 6, 8)) {
    const auto fetch = store->fetch(request.layer, test::used_once(request.experts));
    while (true) {
      while (!held.empty() && (held.size() >= kSlots - 1 || random() % 2)) {
        std::swap(held[random() % held.size()], held.back());
        held.pop_back();
      }
      auto ready = fetch->next();
      ASSERT_TRUE(ready.has_value());
      if (!*ready) break;
      held.push_back({request.layer, (*ready)->expert, std::move((*ready)->weights)});
      for (const Held& one : held) EXPECT_TRUE(test::shows(one.weights, block(one.layer, one.expert), files_));
    }
  }
}

TEST_F(ExpertStoreTest, AFetchMayBeGivenUpAtAnyPoint) {
  const auto store = this->store(7);
  std::mt19937_64 random(6);
  for (const LayerRequest& request : random_requests(60, kStoreExperts, 9)) {
    const auto fetch = store->fetch(request.layer, test::used_once(request.experts));
    for (std::uint64_t count = random() % 5; count > 0; --count) {
      auto ready = fetch->next();
      ASSERT_TRUE(ready.has_value());
      if (!*ready) break;
      EXPECT_TRUE(test::shows((*ready)->weights, block(request.layer, (*ready)->expert), files_));
    }
  }
}

TEST_F(ExpertStoreTest, AFailedReadNamesTheExpertAndTheNextRequestReadsAgain) {
  const auto store = this->store(6);
  int failures = 0;
  std::uint64_t seed = 0;
  for (const LayerRequest& request : random_requests(40, kStoreExperts, 10)) {
    files_.set_faults({.short_reads = 0.2, .failing_reads = 0.1, .seed = ++seed});
    const auto fetch = store->fetch(request.layer, test::used_once(request.experts));
    while (true) {
      auto ready = fetch->next();
      if (!ready) {
        ++failures;
        EXPECT_EQ(ready.error().kind, ErrorKind::io);
        EXPECT_NE(ready.error().what.find("layer " + std::to_string(request.layer) + " expert "), std::string::npos);
        EXPECT_NE(ready.error().what.find("file-"), std::string::npos);
        break;
      }
      if (!*ready) break;
      EXPECT_TRUE(test::shows((*ready)->weights, block(request.layer, (*ready)->expert), files_));
    }
  }
  EXPECT_GT(failures, 5);
}

TEST_F(ExpertStoreTest, ACorruptScaleIsRefusedWithItsTensorFileAndPlace) {
  int layer = 0, expert = 0;
  std::size_t tensor = 0;
  for (int index = 0; index < kStoreLayers * kStoreExperts; ++index)
    for (std::size_t t = 0; t < blocks_[static_cast<std::size_t>(index)].tensors.size(); ++t)
      if (blocks_[static_cast<std::size_t>(index)].tensors[t].scales.bytes > 0)
        layer = index / kStoreExperts, expert = index % kStoreExperts, tensor = t;
  const test::RunOnDisk scales = block(layer, expert).tensors[tensor].scales;
  const std::uint64_t place = scales.offset + scales.bytes - 1;
  std::byte& bad = files_.bytes(scales.file)[place];
  const auto store = make_expert_store(table_, 2, make_policy("default", {kStoreLayers, kStoreExperts, 2}), *queue_,
                                       [&](int l, int e) { return block(l, e).spec; });
  for (unsigned value : {253u, 255u, 252u}) {
    bad = static_cast<std::byte>(value);
    const int experts[] = {expert};
    const auto fetch = store->fetch(layer, test::used_once(experts));
    auto ready = fetch->next();
    ASSERT_EQ(ready.has_value(), value == 252) << value;
    if (ready) continue;
    EXPECT_EQ(ready.error().kind, ErrorKind::corrupt);
    for (const std::string& part : {table_.label(layer, expert), block(layer, expert).spec.tensors[tensor].name,
                                    files_.path(scales.file), std::to_string(value), "byte " + std::to_string(place)})
      EXPECT_NE(ready.error().what.find(part), std::string::npos) << part << " in: " << ready.error().what;
  }
}

}  // namespace
}  // namespace sluice
