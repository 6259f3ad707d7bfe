// What the plan says the stores hold, they hold: under any budget the memory they ever write to stays within its parts.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "residency/expert_store.h"
#include "residency/plan.h"
#include "residency/row_table.h"
#include "residency/trunk_store.h"
#include "support/expert_uses.h"
#include "support/random_blocks.h"

namespace sluice {
namespace {

constexpr int kPlanLayers = 4, kPlanExperts = 10, kSteps = 13, kPlanTopK = 3;

// Passes requests on and remembers every page that a read may write to.
class WatchedQueue final : public ReadQueue {
 public:
  explicit WatchedQueue(ReadQueue& queue) : queue_(queue) {}
  void submit(std::uint64_t tag, std::span<const Extent> extents, std::span<std::byte> slot, Urgency urgency,
              Landings& landings) override {
    for (const Extent& extent : extents)
      for (std::uint64_t page = page_floor(extent.slot_offset); page < page_ceil(extent.slot_offset + extent.bytes);
           page += kDiskPage)
        pages_.insert(slot.data() + page);
    queue_.submit(tag, extents, slot, urgency, landings);
  }
  void withdraw(std::uint64_t tag, const Landings& landings) override { queue_.withdraw(tag, landings); }
  void hurry(std::uint64_t tag, const Landings& landings) override { queue_.hurry(tag, landings); }
  ReadStats stats() const override { return queue_.stats(); }
  const Files& files() const override { return queue_.files(); }
  std::uint64_t touched_bytes() const { return pages_.size() * kDiskPage; }

 private:
  ReadQueue& queue_;
  std::set<const std::byte*> pages_;
};

class PlanStoresTest : public testing::Test {
 protected:
  PlanStoresTest()
      : files_(true),
        walk_(test::scatter_blocks(files_, kSteps, 60'000, 31)),
        experts_(test::scatter_blocks(files_, kPlanLayers * kPlanExperts, 20'000, 32)),
        table_(test::table_of(experts_, kPlanLayers, kPlanExperts)),
        queue_(make_pread_queue(files_, 2)) {
    embedding_ = {"embed", FormatId::bf16, {100, 300}, files_.add(test::random_bytes(100 * 600, 3)), 0, 0};
  }

  PlanNeeds needs() const {
    PlanNeeds needs;
    needs.baseline_bytes = 100'000;
    for (const test::ScatteredBlock& step : walk_) needs.step_bytes.push_back(step.layout.slot_bytes);
    needs.expert_slot_bytes = table_.slot_bytes();
    needs.expert_count = kPlanLayers * kPlanExperts;
    needs.expert_layers = kPlanLayers;
    needs.experts_in_use = kPlanTopK;
    for (int chunk : {1, 4, 16}) {
      needs.chunks.push_back(chunk);
      needs.scratch_bytes.push_back(static_cast<std::uint64_t>(chunk) * 5'000);
      needs.embedding_bytes.push_back(row_table_bytes(embedding_, chunk));
    }
    return needs;
  }

  void run_token(TrunkStore& trunk, ExpertStore& store, RowTable& rows, int chunk, std::mt19937_64& random) {
    std::vector<int> ids(static_cast<std::size_t>(chunk));
    for (int& id : ids) id = static_cast<int>(random() % 100);
    std::vector<float> out(ids.size() * 300);
    ASSERT_TRUE(rows.read(ids, {out.data(), chunk, 300, 300}).has_value());
    for (int step = 0; step < kSteps; ++step) {
      ASSERT_TRUE(trunk.acquire(step).has_value());
      if (step % 3 != 0 || step / 3 >= kPlanLayers) continue;
      std::set<int> experts;
      while (experts.size() < kPlanTopK) experts.insert(static_cast<int>(random() % kPlanExperts));
      const std::vector<int> wanted(experts.begin(), experts.end());
      const auto fetch = store.fetch(step / 3, test::used_once(wanted));
      while (true) {
        const auto ready = fetch->next();  // its lease is given back before the next one
        if (!ready || !*ready) break;
        experts.erase((*ready)->expert);
      }
      ASSERT_TRUE(experts.empty());
    }
  }

  test::MemoryFiles files_;
  std::vector<test::ScatteredBlock> walk_, experts_;
  ExpertTable table_;
  BoundTensor embedding_;
  std::unique_ptr<ReadQueue> queue_;
};

TEST_F(PlanStoresTest, NeverTouchMoreThanTheirParts) {
  const PlanNeeds needs = this->needs();
  const std::uint64_t least = minimum_bytes(needs), most = resident_bytes(needs);
  std::vector<BlockSpec> specs;
  std::vector<BlockLayout> layouts;
  for (const test::ScatteredBlock& step : walk_) specs.push_back(step.spec), layouts.push_back(step.layout);
  for (std::uint64_t part = 0; part <= 24; ++part) {
    SCOPED_TRACE(part);
    const auto plan = make_plan(needs, least + (most - least) / 24 * part);
    ASSERT_TRUE(plan.has_value());
    WatchedQueue trunk_reads(*queue_), expert_reads(*queue_), row_reads(*queue_);
    const auto trunk = make_trunk_store(specs, layouts, plan->trunk, trunk_reads);
    const auto store =
        make_expert_store(table_, plan->expert_slots,
                          make_policy("default", {kPlanLayers, kPlanExperts, plan->expert_slots}), expert_reads);
    const auto rows = make_row_table(embedding_, plan->prefill_chunk, row_reads);
    std::mt19937_64 random(part);
    constexpr int kTokens = 12;
    for (int token = 0; token < kTokens; ++token) run_token(*trunk, *store, *rows, plan->prefill_chunk, random);
    EXPECT_LE(trunk_reads.touched_bytes(), plan->parts.trunk_pinned + plan->parts.trunk_ring);
    EXPECT_LE(expert_reads.touched_bytes(), plan->parts.experts);
    EXPECT_LE(row_reads.touched_bytes(), plan->parts.embeddings);
    if (plan->everything_resident) {
      EXPECT_LE(trunk->stats().bytes_read, plan->parts.trunk_pinned);
      EXPECT_LE(store->stats().bytes_read, plan->parts.experts);
    }
  }
}

}  // namespace
}  // namespace sluice
