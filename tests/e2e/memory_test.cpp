// The memory budget is obeyed, refused with numbers where it cannot be, and works wherever the weights lie.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/damage.h"
#include "support/sluice_program.h"

namespace sluice::test {
namespace {

// Checks both what the program says of itself and what the kernel says of it.
void expect_within(const std::filesystem::path& model, const Arguments& request, std::uint64_t budget) {
  SCOPED_TRACE(budget);
  const Generated run = generated(model, request + Arguments{"--memory", std::to_string(budget)});
  const auto limit = static_cast<double>(budget) * 1.02;
  EXPECT_LE(static_cast<double>(run.outcome.peak_rss_bytes), limit);
  EXPECT_LE(run.report.at("memory").at("peak_rss_bytes").get<double>(), limit);
  EXPECT_EQ(run.report.at("memory").at("budget_bytes"), budget);
}

class Memory : public testing::Test {
 protected:
  void SetUp() override {
    if (built_with_sanitizers()) GTEST_SKIP() << "sanitizers need memory of their own";
  }
};
class MemoryOf : public Memory, public testing::WithParamInterface<const char*> {};

TEST_P(MemoryOf, TheModelStaysWithinEveryBudget) {
  const auto& [model, prompt] = subject(GetParam());
  const Bounds bounds = memory_bounds(model);
  for (int part = 0; part <= 10; ++part)
    expect_within(model, prompt + Arguments{"--max-tokens", "16"}, bounds.between(part, 10));
}

TEST_P(MemoryOf, SoDoesOneWithManyExperts) {
  const TempDir scratch;
  synthesize(GetParam(), scratch / "many", {"--scale", "tiny", "--layers", "13", "--experts", "256"});
  const Bounds bounds = memory_bounds(scratch / "many");
  for (int part = 0; part <= 4; ++part)
    expect_within(scratch / "many", {"--ids", "1,2,3,4,5", "--max-tokens", "16"}, bounds.between(part, 4));
}

INSTANTIATE_TEST_SUITE_P(Families, MemoryOf, testing::ValuesIn(kFamilies), family_name);

TEST_F(Memory, SoDoManyThreadsAndALongPrompt) {
  std::string prompt;
  for (int word = 0; word < 600; ++word) prompt += "one two three four ";
  const Arguments request = {"--prompt", prompt, "--max-tokens", "4", "--threads", "9"};
  const Bounds bounds = memory_bounds(demo_model(), {"--threads", "9"});
  for (const int part : {0, 2, 5}) expect_within(demo_model(), request, bounds.between(part, 5));
}

TEST_F(Memory, TheProgramItselfIsSmall) {
  const Generated run = generated(demo_model(), {"--prompt", "hi", "--max-tokens", "1"});
  EXPECT_LT(run.report.at("memory").at("baseline_bytes").get<std::uint64_t>(), 25'000'000u);
}

TEST(MemoryPlan, RefusesLessThanTheMinimumWithNumbers) {
  const Bounds bounds = memory_bounds(demo_model());
  for (const std::uint64_t budget : {bounds.minimum - 1, bounds.minimum * 9 / 10, std::uint64_t{1}}) {
    SCOPED_TRACE(budget);
    const Outcome outcome =
        sluice({"run", demo_model().string(), "--prompt", "hi", "--memory", std::to_string(budget)});
    EXPECT_EQ(outcome.exit_code, 3);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find("MiB"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("minimum"), std::string::npos) << outcome.err;
  }
}

TEST(MemoryPlan, RunsWithExactlyTheMinimum) {
  const Bounds bounds = memory_bounds(demo_model());
  EXPECT_LT(bounds.minimum, bounds.resident);
  generated(demo_model(), {"--prompt", "hi", "--max-tokens", "2", "--memory", std::to_string(bounds.minimum)});
}

TEST(Filesystems, TmpfsWorksInEveryMode) {
  if (!std::filesystem::is_directory("/dev/shm")) GTEST_SKIP() << "there is no /dev/shm";
  const std::filesystem::path model = "/dev/shm/sluice-e2e-" + std::to_string(::getpid());
  copy_checkpoint(demo_model(), model);
  const Arguments request = {"--prompt", "The capital of France is", "--max-tokens", "8"};
  const std::string expected = generated(demo_model(), request).answer();
  for (const char* io : {"auto", "buffered", "drop"}) {
    SCOPED_TRACE(io);
    EXPECT_EQ(generated(model, request + flags_of({.budget = 0, .io = io}, model)).answer(), expected);
  }
  std::filesystem::remove_all(model);
}

}  // namespace
}  // namespace sluice::test
