// The promise: memory, threads, instruction set, chunks and I/O change speed, never a bit of the answer. Here, for
// every family, each of them alone and in seeded random mixtures; every combination is in tests/slow.
#include <gtest/gtest.h>

#include <random>

#include "support/sluice_program.h"

namespace sluice::test {
namespace {

class Determinism : public testing::TestWithParam<const char*> {
 protected:
  const std::filesystem::path& model() const { return subject(GetParam()).model; }
  Arguments request(const char* tokens) const { return subject(GetParam()).prompt + Arguments{"--max-tokens", tokens}; }
  Generated run(const Arguments& arguments) const { return generated(model(), arguments); }
  std::string default_answer() const { return run(request("24")).answer(); }
  // Through the page cache where the way of reading is not what is tried: small reads of the drive take half the time.
  void expect_same_answer(const std::string& expected, Setting setting) const {
    if (setting.io.empty()) setting.io = "buffered";
    SCOPED_TRACE(setting.text());
    EXPECT_EQ(run(request("24") + flags_of(setting, model())).answer(), expected);
  }
};

TEST_P(Determinism, OverBudgets) {
  const std::string expected = default_answer();
  for (const int budget : all_axes().budget) expect_same_answer(expected, {.budget = budget});
}

TEST_P(Determinism, OverThreads) {
  const std::string expected = default_answer();
  for (const std::string& threads : all_axes().threads) {
    expect_same_answer(expected, {.threads = threads});
    expect_same_answer(expected, {.budget = 0, .threads = threads});
  }
}

TEST_P(Determinism, OverInstructionSets) {
  const std::string expected = default_answer();
  for (const std::string& isa : all_axes().isa) {
    expect_same_answer(expected, {.isa = isa});
    EXPECT_EQ(run(request("1") + Arguments{"--isa", isa}).report.at("isa"), isa);
  }
}

TEST_P(Determinism, OverPrefillChunks) {
  const Generated whole = run(request("24"));
  EXPECT_GT(whole.report.at("prompt_ids").size(), 64u);
  const std::string expected = whole.answer();
  for (const std::string& chunk : all_axes().chunk) expect_same_answer(expected, {.chunk = chunk});
}

TEST_P(Determinism, OverWaysOfReading) {
  const std::string expected = default_answer();
  for (const std::string& io : all_axes().io) expect_same_answer(expected, {.budget = 1, .io = io});
}

TEST_P(Determinism, OverRandomMixtures) {
  constexpr unsigned kSeed = 20;
  std::mt19937 random(kSeed);
  const Axes axes = all_axes();
  const auto one_of = [&](const auto& values) { return values[random() % values.size()]; };
  const std::string expected = default_answer();
  for (int mixture = 0; mixture < 6; ++mixture)
    expect_same_answer(expected, {.budget = one_of(axes.budget),
                                  .threads = one_of(axes.threads),
                                  .isa = one_of(axes.isa),
                                  .chunk = one_of(axes.chunk),
                                  .io = one_of(axes.io)});
}

TEST_P(Determinism, WithoutState) {
  EXPECT_EQ(run(request("12") + Arguments{"--recompute"}).answer(), run(request("12")).answer());
}

TEST_P(Determinism, OfSampledText) {
  const Arguments sampled = request("24") + Arguments{"--temperature", "1.2", "--top-p", "0.95", "--seed", "7"};
  const std::string expected = run(sampled).answer();
  EXPECT_EQ(
      generated(model(), sampled + flags_of({.budget = 0, .threads = "5", .isa = "scalar", .chunk = "1"}, model()))
          .answer(),
      expected);
  const Arguments other_seed = request("24") + Arguments{"--temperature", "1.2", "--top-p", "0.95", "--seed", "8"};
  EXPECT_NE(run(other_seed).answer(), expected);
}

// The hash is worth comparing only if another answer has another one.
TEST_P(Determinism, TheHashKnowsTheAnswer) {
  const auto hash = [this](const Arguments& arguments) { return run(arguments).report.at("logits_hash"); };
  EXPECT_NE(hash(request("24")), hash(request("23")));
  EXPECT_NE(hash({"--ids", "1", "--max-tokens", "1"}), hash({"--ids", "2", "--max-tokens", "1"}));
}

// Nothing above means much unless the small budgets really stream.
TEST_P(Determinism, TheMinimumStreams) {
  const Generated least = run(request("24") + flags_of({.budget = 0}, model()));
  const Generated all = run(request("24") + flags_of({.budget = kBudgets - 1}, model()));
  const auto read = [](const Generated& run, const char* what) {
    return run.report.at("bytes").at(what).get<std::uint64_t>();
  };
  // With everything resident each expert is read once at most: no more than the checkpoint holds.
  EXPECT_GT(read(least, "experts_read"), 2 * read(all, "experts_read"));
  EXPECT_GT(read(least, "trunk_read"), 2 * read(all, "trunk_read"));
}

INSTANTIATE_TEST_SUITE_P(Families, Determinism, testing::ValuesIn(kFamilies), family_name);

}  // namespace
}  // namespace sluice::test
