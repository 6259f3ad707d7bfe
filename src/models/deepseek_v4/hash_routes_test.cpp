// What a token's table says is what is hinted and what is routed, to the same store request.
#include "models/deepseek_v4/hash_routes.h"

#include <gtest/gtest.h>

#include <random>

#include "compute/reference.h"
#include "moe/router.h"
#include "support/random_blocks.h"

namespace sluice::deepseek_v4 {
namespace {

constexpr int kHashLayers = 3, kHashExperts = 13, kTokens = 50, kTopK = 2;

IdTable random_table(std::mt19937_64& random) {
  std::vector<std::uint16_t> ids;
  for (int id = 0; id < kTokens * kTopK; ++id) ids.push_back(static_cast<std::uint16_t>(random() % kHashExperts));
  return IdTable(kTopK, ids);
}

// Spec section 3.8: s / (sum of the chosen) times the factor.
TEST(HashRoutes, TheTableChoosesAndScoresWeigh) {
  const IdTable table(kTopK, {3, 1, 0, 2});
  std::vector<float> scores = {.5f, 1.f, 2.f, 3.f, .25f, .5f, .75f, 1.f};
  std::vector<int> given;
  given_experts(table, std::vector{1, 0}, given);
  ExpertChooser chooser;
  const Routes& routes = chooser.take({scores.data(), 2, 4, 4}, given, {.top_k = 2, .factor = 1.5f});
  ASSERT_EQ(routes.all.size(), 4u);
  EXPECT_EQ(routes.of(0)[0].expert, 0);  // ascending
  EXPECT_EQ(routes.of(0)[1].expert, 2);
  EXPECT_EQ(routes.of(0)[0].weight, .5f / 2.5f * 1.5f);
  EXPECT_EQ(routes.of(0)[1].weight, 2.f / 2.5f * 1.5f);
  EXPECT_EQ(routes.of(1)[0].expert, 1);
  EXPECT_EQ(routes.of(1)[1].expert, 3);
  EXPECT_EQ(routes.of(1)[1].weight, 1.f / 1.5f * 1.5f);
}

// Every miss of every table's layer has begun before it is asked for, in passes of one row and of many, an expert named
// twice in a row among them.
TEST(HashRoutes, WhatIsHintedIsWhatIsAskedFor) {
  std::mt19937_64 random(4);
  test::MemoryFiles files(true, {.longest_delay = std::chrono::microseconds(50)});
  const auto blocks = test::scatter_blocks(files, kHashLayers * kHashExperts, 3'000, 2);
  const ExpertTable table = test::table_of(blocks, kHashLayers, kHashExperts);
  const auto queue = make_pread_queue(files, 2);
  const auto store = make_expert_store(table, 28, make_policy("default", {kHashLayers, kHashExperts, 28}), *queue);
  const std::vector<IdTable> tables = {random_table(random), random_table(random)};
  std::vector<float> scores(kTokens * kHashExperts, 1.f);
  ReferenceOps ops;
  ExpertChooser chooser;
  ExpertGroups groups;
  for (int pass = 0; pass < 60; ++pass) {
    std::vector<int> tokens(pass % 3 == 0 ? 1 + random() % 20 : 1);
    for (int& token : tokens) token = static_cast<int>(random() % kTokens);
    hint_experts(tables, tokens, *store);
    for (int layer = 0; layer < kHashLayers; ++layer) {
      const Rows rows{scores.data(), static_cast<int>(tokens.size()), kHashExperts, kHashExperts};
      std::vector<int> given;
      if (layer < 2) given_experts(tables[static_cast<std::size_t>(layer)], tokens, given);
      const Routes& routes =
          layer < 2 ? chooser.take(rows, given, {.top_k = kTopK}) : chooser.choose(ops, {rows, {}, {.top_k = kTopK}});
      std::vector<ExpertUse> uses;
      for (const ExpertGroup& group : groups.of(routes))
        uses.push_back({group.expert, static_cast<int>(group.routes.size())});
      const ExpertStats before = store->stats();
      const auto fetch = store->fetch(layer, uses);
      const ExpertStats now = store->stats();
      const std::uint64_t misses = now.requests - before.requests - (now.hits - before.hits);
      EXPECT_EQ(now.begun - before.begun, layer < 2 ? misses : 0);
      EXPECT_TRUE(layer == 2 || now.bytes_read == before.bytes_read);
      while (*fetch->next()) continue;
    }
  }
  EXPECT_GT(store->stats().begun, 20u);
}

}  // namespace
}  // namespace sluice::deepseek_v4
