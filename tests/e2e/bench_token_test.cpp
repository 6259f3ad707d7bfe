// What `sluice bench token` prints explains itself: the ratio follows from its own figures. And `bench threads`.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "support/damage.h"
#include "support/sluice_program.h"

namespace sluice::test {
namespace {

TEST(BenchToken, ItsFiguresExplainEachOther) {
  const Bounds bounds = memory_bounds(demo_model());
  const std::string budgets = std::to_string(bounds.minimum) + "," + std::to_string(bounds.resident);
  const Outcome outcome =
      sluice({"bench", "token", demo_model().string(), "--memory", budgets, "--tokens", "3", "--json", "-"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json entries = nlohmann::json::parse(outcome.out).at("entries");
  ASSERT_EQ(entries.size(), 2u);
  const auto figure = [&](std::size_t entry, const char* name) { return entries[entry].at(name).get<double>(); };
  for (std::size_t entry = 0; entry < 2; ++entry) {
    const double floor = std::max(figure(entry, "disk_floor_s"), figure(entry, "memory_floor_s"));
    EXPECT_GT(floor, 0);
    EXPECT_NEAR(figure(entry, "ratio"), figure(entry, "s_per_token") / floor, 1e-6 * figure(entry, "ratio"));
    EXPECT_GT(figure(entry, "operations_s"), 0);
    EXPECT_LE(figure(entry, "exposed_io_s") + figure(entry, "operations_s"), figure(entry, "s_per_token"));
    EXPECT_LT(figure(entry, "outside_share"), 1);
    EXPECT_LE(figure(entry, "trunk_bytes_per_token") + figure(entry, "expert_bytes_per_token"),
              figure(entry, "bytes_read_per_token"));
  }
  EXPECT_EQ(figure(0, "memory_bytes"), static_cast<double>(bounds.minimum));
  EXPECT_GT(figure(0, "bytes_read_per_token"), figure(0, "touched_bytes_per_token") / 2);
  EXPECT_EQ(figure(1, "trunk_bytes_per_token"), 0);
  EXPECT_EQ(figure(1, "expert_bytes_per_token"), 0);  // all were loaded before the first token that counts
  EXPECT_EQ(figure(1, "expert_hit_rate"), 1);
}

TEST(BenchThreads, TellsWhatALoopCostsAndWhatANeighbourLeaves) {
  const Outcome outcome = sluice({"bench", "threads", "--threads", "2", "--json", "-"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json bench = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(bench.at("threads"), 2);
  EXPECT_EQ(bench.at("loops").size(), 3u);
  for (const char* speed : {"speed", "speed_beside"}) EXPECT_GT(bench.at(speed).get<double>(), 0) << speed;
  EXPECT_LE(bench.at("fair_share").get<double>(), 1);
}

TEST(BenchToken, ReadsAsItIsToldAndFromEveryDirectory) {
  const TempDir scratch;
  copy_checkpoint(demo_model(), scratch / "model");
  ASSERT_EQ(sluice({"verify", (scratch / "model").string(), "--write"}).exit_code, 0);
  copy_checkpoint(scratch / "model", scratch / "mirror");
  const std::string model = (scratch / "model").string(), mirror = (scratch / "mirror").string();
  const Arguments how = {"--io",          "buffered",
                         "--kv",          "bf16",
                         "--preload",     "off",
                         "--pin-experts", "10",
                         "--isa",         "scalar",
                         "--io-engine",   "threads",
                         "--read-ahead",  "certain",
                         "--mirror",      mirror,
                         "--tokens",      "2",
                         "--rounds",      "1",
                         "--memory",      std::to_string(memory_bounds(model).resident)};
  const Outcome outcome = sluice(Arguments{"bench", "token", model, "--json", "-"} + how);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("io_mode"), "buffered");
  EXPECT_EQ(json.at("io_engine"), "threads");
  EXPECT_EQ(json.at("kv"), "bf16");
  EXPECT_EQ(json.at("isa"), "scalar");
  EXPECT_EQ(json.at("preload"), false);
  EXPECT_EQ(json.at("pin_experts"), 10);
  EXPECT_EQ(json.at("read_ahead"), "certain");
  EXPECT_EQ(json.at("entries")[0].at("surplus_bytes_per_token"), 0);
  EXPECT_EQ(json.at("directories"), nlohmann::json({model, mirror}));
  EXPECT_GT(json.at("entries")[0].at("expert_bytes_per_token"), 0);  // none was loaded ahead
}

// Alone, and before the first budget is measured.
TEST(BenchToken, WhatIsRefusedIsToldFirst) {
  const std::string model = demo_model().string();
  const auto expect_refused = [](const Arguments& arguments, int exit_code) {
    const Outcome outcome = sluice(Arguments{"bench", "token"} + arguments);
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err.find("sluice: "), 0u) << outcome.err;
  };
  expect_refused({model, "--memory", "1M"}, 3);
  expect_refused({model, "--memory", std::to_string(memory_bounds(model).resident) + ",1M"}, 3);
  expect_refused({model, "--memory", "lots"}, 2);
  expect_refused({"/nonexistent/model"}, 1);
}

TEST(BenchToken, MoreTokensThanTheContextHoldsAreToldInItsOwnFlags) {
  const std::string model = demo_model().string();
  for (const Arguments& flags : std::vector<Arguments>{{"--tokens", "5000"}, {"--tokens", "50", "--context", "40"}}) {
    const Outcome outcome = sluice(Arguments{"bench", "token", model} + flags);
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    EXPECT_NE(outcome.err.find("--tokens " + flags[1]), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("lower --tokens"), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find("--max-tokens"), std::string::npos) << outcome.err;
  }
  const Outcome beyond = sluice({"bench", "token", model, "--context", "50000000"});
  EXPECT_EQ(beyond.exit_code, 1);
  EXPECT_NE(beyond.err.find("lower --context"), std::string::npos) << beyond.err;
  EXPECT_EQ(beyond.err.find("--max-tokens"), std::string::npos) << beyond.err;
}

}  // namespace
}  // namespace sluice::test
