// What `sluice plan` prints: figures that add up, a ladder that only gets better, a table a stranger can read.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/sluice_program.h"

namespace sluice::test {
namespace {

nlohmann::json planned(const std::filesystem::path& model, const Arguments& arguments) {
  const Outcome outcome = sluice(Arguments{"plan", model.string(), "--json", "-"} + arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return nlohmann::json::parse(outcome.out);
}

std::uint64_t bytes(const nlohmann::json& json, const char* name) { return json.at(name).get<std::uint64_t>(); }

TEST(Plan, ItsFiguresAddUpAtEveryBudget) {
  const Bounds bounds = memory_bounds(demo_model());
  for (int part = 0; part <= 4; ++part) {
    const std::uint64_t budget = bounds.between(part, 4);
    SCOPED_TRACE(budget);
    const nlohmann::json plan = planned(demo_model(), {"--memory", std::to_string(budget)});
    std::uint64_t sum = bytes(plan, "baseline_bytes");
    EXPECT_EQ(plan.at("parts").size(), 7u);
    for (const auto& [name, part_bytes] : plan.at("parts").items()) sum += part_bytes.get<std::uint64_t>();
    EXPECT_EQ(sum, bytes(plan, "planned_bytes"));
    EXPECT_LE(sum, budget);
    EXPECT_EQ(bytes(plan, "budget_bytes"), budget);
    EXPECT_EQ(bytes(plan, "minimum_bytes"), bounds.minimum);
    EXPECT_EQ(bytes(plan, "resident_bytes"), bounds.resident);
    EXPECT_TRUE(part > 0 || !plan.at("everything_resident").get<bool>());
    EXPECT_TRUE(part < 4 || plan.at("everything_resident").get<bool>());
    EXPECT_GT(plan.at("predicted_s_per_token").get<double>(), 0);
  }
}

TEST(Plan, NarrowRowsTakeLessOfTheBudget) {
  const std::filesystem::path model = demo_model().parent_path() / "glm-5.2";
  const auto state = [&](const Arguments& kv) {
    return bytes(planned(model, kv + Arguments{"--speculate", "off"}).at("parts"), "state");
  };
  const std::uint64_t full = state({}), half = state({"--kv", "bf16"}), quarter = state({"--kv", "int8"});
  EXPECT_EQ(full, state({"--kv", "fp32"}));
  EXPECT_NEAR(static_cast<double>(half) / static_cast<double>(full), 0.5, 0.02);
  EXPECT_NEAR(static_cast<double>(quarter) / static_cast<double>(full), 0.27, 0.06);
  EXPECT_EQ(planned(model, {"--kv", "int8"}).at("kv"), "int8");
  EXPECT_EQ(sluice({"plan", model.string(), "--kv", "fp8"}).exit_code, 2);
}

// How much all experts take, on disk and in whole pages of memory, is one fact.
TEST(Plan, AndARunTellTheSameOfTheExperts) {
  for (const char* family : kFamilies) {
    const std::string model = subject(family).model.string();
    const Arguments budget = {"--memory", std::to_string(memory_bounds(model).resident)};
    const auto after = [](const std::string& text, const std::string& before) {
      const std::size_t at = text.find(before), begin = at + before.size();
      return at == std::string::npos ? "no" + before : text.substr(begin, text.find(')', begin) - begin);
    };
    const Outcome plan = sluice(Arguments{"plan", model} + budget);
    const Outcome run = sluice(Arguments{"run", model, "--ids", "1,2", "--max-tokens", "1"} + budget);
    const std::string told = after(plan.out, " experts (");
    EXPECT_NE(told.find(" on disk, "), std::string::npos) << plan.out;
    EXPECT_NE(told.find(" in memory"), std::string::npos) << plan.out;
    EXPECT_EQ(after(run.err, " (of all: "), told) << run.err;
  }
}

TEST(Plan, TheLadderOnlyGetsBetter) {
  const nlohmann::json plan = planned(demo_model(), {});
  const nlohmann::json& ladder = plan.at("ladder");
  ASSERT_GE(ladder.size(), 5u);
  EXPECT_EQ(ladder.front().at("name"), "minimum");
  for (std::size_t rung = 1; rung < ladder.size(); ++rung) {
    const nlohmann::json &lower = ladder[rung - 1], &upper = ladder[rung];
    EXPECT_GT(bytes(upper, "budget_bytes"), bytes(lower, "budget_bytes"));
    EXPECT_LE(bytes(upper, "trunk_bytes_per_token") + bytes(upper, "expert_bytes_per_token"),
              bytes(lower, "trunk_bytes_per_token") + bytes(lower, "expert_bytes_per_token"));
    EXPECT_LE(upper.at("predicted_s_per_token").get<double>(), lower.at("predicted_s_per_token").get<double>());
  }
}

TEST(Plan, AConfigAloneIsPlannedAndWhatIsAssumedIsTold) {
  const std::string config = (demo_model() / "config.json").string();
  const Outcome told = sluice({"plan", "--config", config, "--memory", "24M"});
  EXPECT_EQ(told.exit_code, 0) << told.err;
  for (const char* phrase : {"Assumed: tensors as released", "Assumed: a disk that reads", "What memory buys"})
    EXPECT_NE(told.out.find(phrase), std::string::npos) << phrase << " is not in\n" << told.out;
  const Outcome outcome = sluice({"plan", "--config", config, "--json", "-"});
  const nlohmann::json guess = nlohmann::json::parse(outcome.out), plan = planned(demo_model(), {});
  EXPECT_FALSE(guess.at("assumed").empty());
  EXPECT_FALSE(plan.contains("assumed"));
  for (const char* part : {"minimum_bytes", "resident_bytes"})
    EXPECT_NEAR(guess.at(part).get<double>() / plan.at(part).get<double>(), 1, 0.15) << part;
  EXPECT_EQ(sluice({"plan"}).exit_code, 2);
  EXPECT_EQ(sluice({"plan", demo_model().string(), "--config", config}).exit_code, 2);
  EXPECT_EQ(sluice({"plan", "--config", (demo_model() / "none.json").string()}).exit_code, 1);
}

TEST(Plan, TheTableNamesThePartsTheLimitAndTheWayUp) {
  const Outcome outcome = sluice({"plan", demo_model().string(), "--preset", "desktop"});
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* phrase : {"preset desktop", "trunk, stays", "experts", "state", "activations", "the program",
                             "a token; the limit is", "What memory buys", "minimum", "resident"})
    EXPECT_NE(outcome.out.find(phrase), std::string::npos) << phrase << " is not in\n" << outcome.out;
}

TEST(Plan, AnUnknownPresetIsAUsageErrorThatListsThem) {
  const Outcome outcome = sluice({"plan", demo_model().string(), "--preset", "toaster"});
  EXPECT_EQ(outcome.exit_code, 2);
  for (const char* name : {"toaster", "ultra", "laptop", "desktop", "workstation", "server", "max"})
    EXPECT_NE(outcome.err.find(name), std::string::npos) << name;
}

}  // namespace
}  // namespace sluice::test
