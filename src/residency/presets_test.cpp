// Presets are the announced budgets for Kimi K3, and plans that work for every other model.
#include "residency/presets.h"

#include <gtest/gtest.h>

#include "support/plan_needs.h"

namespace sluice {
namespace {

TEST(Presets, OfKimiK3AreTheAnnouncedOnes) {
  const std::uint64_t gib[] = {3, 8, 32, 96, 128, 224};
  const std::vector<Preset> all = presets(test::k3_like_needs());
  ASSERT_EQ(all.size(), 6u);
  for (std::size_t index = 0; index < all.size(); ++index) EXPECT_EQ(all[index].budget_bytes, gib[index] << 30);
  EXPECT_EQ(find_preset(test::k3_like_needs(), "laptop")->budget_bytes, 8ull << 30);
  EXPECT_FALSE(find_preset(test::k3_like_needs(), "toaster").has_value());
}

TEST(Presets, OfAnyModelAreAcceptedAndAscend) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const PlanNeeds needs = test::random_needs(seed);
    std::uint64_t before = 0;
    const auto desktop = make_plan(needs, find_preset(needs, "desktop")->budget_bytes);
    EXPECT_GE(4 * desktop->parts.trunk_pinned, desktop->parts.trunk_pinned + desktop->trunk_bytes_per_token);
    EXPECT_EQ(make_plan(needs, find_preset(needs, "server")->budget_bytes)->trunk_bytes_per_token, 0u);
    for (const Preset& preset : presets(needs)) {
      EXPECT_TRUE(make_plan(needs, preset.budget_bytes).has_value()) << preset.name;
      EXPECT_GE(preset.budget_bytes, before);
      before = preset.budget_bytes;
    }
  }
}

}  // namespace
}  // namespace sluice
