// Random models and all budgets: the parts add up to less than the budget, the stores can work with them, and a larger
// budget never reads more.
#include "residency/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "io/extent.h"
#include "support/plan_needs.h"

namespace sluice {
namespace {

std::uint64_t sum(const MemoryPlan& plan) {
  const MemoryPlan::Parts& parts = plan.parts;
  return plan.baseline_bytes + parts.trunk_pinned + parts.trunk_ring + parts.experts + parts.embeddings + parts.state +
         parts.scratch + parts.io;
}

void expect_workable(const PlanNeeds& needs, const MemoryPlan& plan) {
  EXPECT_EQ(plan.planned_bytes, sum(plan));
  EXPECT_LE(plan.planned_bytes, plan.budget_bytes);
  for (std::uint64_t part : {plan.parts.trunk_pinned, plan.parts.trunk_ring, plan.parts.experts, plan.parts.embeddings,
                             plan.parts.state, plan.parts.scratch, plan.parts.io, plan.baseline_bytes})
    EXPECT_EQ(part % kDiskPage, 0u);
  const std::vector<int>& pinned = plan.trunk.pinned;
  ASSERT_TRUE(std::ranges::is_sorted(pinned, std::ranges::less_equal{}));
  std::uint64_t pinned_bytes = 0, largest = 0;
  for (std::size_t step = 0; step < needs.step_bytes.size(); ++step)
    if (std::ranges::binary_search(pinned, static_cast<int>(step)))
      pinned_bytes += page_ceil(needs.step_bytes[step]);
    else
      largest = std::max(largest, page_ceil(needs.step_bytes[step]));
  EXPECT_EQ(plan.parts.trunk_pinned, pinned_bytes);
  EXPECT_EQ(plan.parts.trunk_ring, plan.trunk.ring_bytes);
  EXPECT_GE(plan.trunk.ring_bytes, largest);
  EXPECT_LE(static_cast<std::uint64_t>(plan.expert_slots), needs.expert_count);
  EXPECT_GE(plan.expert_slots, needs.expert_count > 0 ? 1 : 0);
  EXPECT_GE(plan.parts.experts, static_cast<std::uint64_t>(plan.expert_slots) * page_ceil(needs.expert_slot_bytes));
  const auto chunk = std::ranges::find(needs.chunks, plan.prefill_chunk) - needs.chunks.begin();
  ASSERT_LT(static_cast<std::size_t>(chunk), needs.chunks.size());
  EXPECT_GE(plan.parts.scratch, needs.scratch_bytes[static_cast<std::size_t>(chunk)]);
  EXPECT_GE(plan.parts.embeddings, needs.embedding_bytes[static_cast<std::size_t>(chunk)]);
}

TEST(Plan, EveryBudgetIsWorkableAndALargerOneNeverReadsMore) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    const PlanNeeds needs = test::random_needs(seed);
    const std::uint64_t minimum = minimum_bytes(needs), resident = resident_bytes(needs);
    ASSERT_LE(minimum, resident);
    std::mt19937_64 random(seed);
    std::vector<std::uint64_t> budgets = {minimum, minimum + 1, resident - 1, resident, resident + 1, resident * 2};
    for (int count = 0; count < 300; ++count) {
      const std::uint64_t span = count % 3 == 0 ? resident - minimum : (resident - minimum) >> (random() % 12);
      budgets.push_back((count % 2 ? minimum : resident - span) + (span > 0 ? random() % span : 0));
      budgets.push_back(budgets.back() + 4096);
    }
    std::ranges::sort(budgets);
    std::uint64_t read = ~std::uint64_t{0};
    int chunk = 0;
    for (std::uint64_t budget : budgets) {
      if (budget < minimum) continue;
      SCOPED_TRACE(budget);
      const auto plan = make_plan(needs, budget);
      ASSERT_TRUE(plan.has_value());
      expect_workable(needs, *plan);
      EXPECT_EQ(plan->minimum_bytes, minimum);
      EXPECT_EQ(plan->resident_bytes, resident);
      EXPECT_LE(plan->trunk_bytes_per_token + plan->expert_bytes_per_token, read);
      read = plan->trunk_bytes_per_token + plan->expert_bytes_per_token;
      EXPECT_GE(plan->prefill_chunk, chunk);
      chunk = plan->prefill_chunk;
      EXPECT_EQ(plan->everything_resident, read == 0);
      if (HasFailure()) return;
    }
    EXPECT_EQ(read, 0u);
    EXPECT_EQ(chunk, needs.chunks.back());
  }
}

TEST(Plan, UsesTheBudgetAndPinsTheTrunkFirst) {
  const PlanNeeds needs = test::k3_like_needs();
  for (std::uint64_t gib : {3u, 8u, 32u, 96u, 128u, 224u, 700u}) {
    const auto plan = make_plan(needs, gib << 30);
    ASSERT_TRUE(plan.has_value());
    EXPECT_GE(static_cast<double>(plan->planned_bytes), 0.93 * static_cast<double>(plan->budget_bytes)) << gib;
    EXPECT_GE(plan->expert_slots, 17);
    EXPECT_TRUE(plan->expert_slots < 200 || plan->trunk.pinned.size() > 370) << gib;
  }
  const auto whole = make_plan(needs, resident_bytes(needs));
  ASSERT_TRUE(whole.has_value());
  EXPECT_TRUE(whole->everything_resident);
  EXPECT_EQ(whole->trunk.ring_bytes, 0u);
  EXPECT_EQ(whole->expert_slots, 92 * 896);
}

TEST(Plan, BelowTheMinimumItRefusesWithNumbersAndAWayOut) {
  const PlanNeeds needs = test::k3_like_needs();
  const std::uint64_t minimum = minimum_bytes(needs);
  const auto plan = make_plan(needs, minimum - 1);
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().kind, ErrorKind::refused);
  for (const char* part : {"the state of its sequences", "the largest step of the trunk", "MiB"})
    EXPECT_NE(plan.error().what.find(part), std::string::npos) << plan.error().what;
  EXPECT_NE(plan.error().hint.find("--context"), std::string::npos);
  const std::uint64_t offered = std::stoull(plan.error().hint.substr(plan.error().hint.find("--memory ") + 9)) << 20;
  EXPECT_GE(offered, minimum);
  EXPECT_LT(offered, minimum + (1 << 20));
}

TEST(Plan, TheForecastNamesItsLimit) {
  MemoryPlan plan;
  plan.trunk_bytes_per_token = 6'000'000'000;
  plan.expert_bytes_per_token = 1'000'000'000;
  plan.touched_bytes_per_token = 20'000'000'000;
  Machine machine;
  machine.memory_bytes_per_second = 20e9;
  EXPECT_EQ(forecast(plan, machine).limit, "memory");
  machine.disk_bytes_per_second = 3.5e9;
  EXPECT_EQ(forecast(plan, machine).limit, "disk");
  EXPECT_DOUBLE_EQ(forecast(plan, machine).seconds_per_token, 2);
  machine.multiply_bytes_per_second = 5e9;
  EXPECT_EQ(forecast(plan, machine).limit, "compute");
  EXPECT_DOUBLE_EQ(forecast(plan, machine).seconds_per_token, 4);
}

TEST(Plan, TheDefaultBudgetLeavesAFifth) {
  Machine machine;
  machine.total_bytes = 100, machine.available_bytes = 50;
  EXPECT_EQ(default_budget(machine), 40u);
}

}  // namespace
}  // namespace sluice
