// The promise: memory, threads, instruction set, chunks and I/O change speed, never a bit of the answer. Here each of
// them alone and in seeded random mixtures; every combination is in tests/slow.
#include <gtest/gtest.h>

#include <random>

#include "support/sluice_program.h"

namespace sluice::test {
namespace {

// More than 64 tokens, so that a prefill chunk of 64 is not all of it and attention crosses a block of positions.
const std::string kPrompt =
    "The capital of France is Paris. The capital of Italy is Rome. The capital of Japan is Tokyo. The capital of Spain "
    "is Madrid. The capital of Egypt is Cairo. One two three four five six seven eight nine ten. Snow is white. Grass "
    "is green. The sky is blue. Once "
    "upon a time there was";

Arguments request(const char* tokens) { return {"--prompt", kPrompt, "--max-tokens", tokens}; }

void expect_same_answer(const std::string& expected, const Setting& setting) {
  SCOPED_TRACE(setting.text());
  EXPECT_EQ(generated(demo_model(), request("24") + flags_of(setting, demo_model())).answer(), expected);
}

std::string default_answer() { return generated(demo_model(), request("24")).answer(); }

TEST(Determinism, OverBudgets) {
  const std::string expected = default_answer();
  for (const int budget : all_axes().budget) expect_same_answer(expected, {.budget = budget});
}

TEST(Determinism, OverThreads) {
  const std::string expected = default_answer();
  for (const std::string& threads : all_axes().threads) {
    expect_same_answer(expected, {.threads = threads});
    expect_same_answer(expected, {.budget = 0, .threads = threads});
  }
}

TEST(Determinism, OverInstructionSets) {
  const std::string expected = default_answer();
  for (const std::string& isa : all_axes().isa) {
    expect_same_answer(expected, {.isa = isa});
    EXPECT_EQ(generated(demo_model(), request("1") + Arguments{"--isa", isa}).report.at("isa"), isa);
  }
}

TEST(Determinism, OverPrefillChunks) {
  const Generated whole = generated(demo_model(), request("24"));
  EXPECT_GT(whole.report.at("prompt_ids").size(), 64u);
  const std::string expected = whole.answer();
  for (const std::string& chunk : all_axes().chunk) expect_same_answer(expected, {.chunk = chunk});
}

TEST(Determinism, OverWaysOfReading) {
  const std::string expected = default_answer();
  for (const std::string& io : all_axes().io) expect_same_answer(expected, {.budget = 1, .io = io});
}

TEST(Determinism, OverRandomMixtures) {
  constexpr unsigned kSeed = 20;
  std::mt19937 random(kSeed);
  const Axes axes = all_axes();
  const auto one_of = [&](const auto& values) { return values[random() % values.size()]; };
  const std::string expected = default_answer();
  for (int mixture = 0; mixture < 12; ++mixture)
    expect_same_answer(expected, {.budget = one_of(axes.budget),
                                  .threads = one_of(axes.threads),
                                  .isa = one_of(axes.isa),
                                  .chunk = one_of(axes.chunk),
                                  .io = one_of(axes.io)});
}

TEST(Determinism, WithoutState) {
  EXPECT_EQ(generated(demo_model(), request("12") + Arguments{"--recompute"}).answer(),
            generated(demo_model(), request("12")).answer());
}

TEST(Determinism, OfSampledText) {
  const Arguments sampled = request("24") + Arguments{"--temperature", "1.2", "--top-p", "0.95", "--seed", "7"};
  const std::string expected = generated(demo_model(), sampled).answer();
  EXPECT_EQ(generated(demo_model(),
                      sampled + flags_of({.budget = 0, .threads = "5", .isa = "scalar", .chunk = "1"}, demo_model()))
                .answer(),
            expected);
  const Arguments other_seed = request("24") + Arguments{"--temperature", "1.2", "--top-p", "0.95", "--seed", "8"};
  EXPECT_NE(generated(demo_model(), other_seed).answer(), expected);
}

// The hash is worth comparing only if another answer has another one.
TEST(Determinism, TheHashKnowsTheAnswer) {
  const auto hash = [](const Arguments& arguments) {
    return generated(demo_model(), arguments).report.at("logits_hash");
  };
  EXPECT_NE(hash(request("24")), hash(request("23")));
  EXPECT_NE(hash({"--prompt", "One", "--max-tokens", "1"}), hash({"--prompt", "Two", "--max-tokens", "1"}));
}

// Nothing above means much unless the small budgets really stream.
TEST(Determinism, TheMinimumStreams) {
  const Generated least = generated(demo_model(), request("24") + flags_of({.budget = 0}, demo_model()));
  const Generated all = generated(demo_model(), request("24") + flags_of({.budget = kBudgets - 1}, demo_model()));
  const auto read = [](const Generated& run, const char* what) {
    return run.report.at("bytes").at(what).get<std::uint64_t>();
  };
  // With everything resident each expert is read once at most: no more than the checkpoint holds.
  EXPECT_GT(read(least, "experts_read"), 2 * read(all, "experts_read"));
  EXPECT_GT(read(least, "trunk_read"), 2 * read(all, "trunk_read"));
}

}  // namespace
}  // namespace sluice::test
