// Reading what routers name before their time changes which experts are in memory and no bit of a result.
#include <gtest/gtest.h>

#include <filesystem>

#include "support/engine/recorded_run.h"
#include "support/golden_models.h"

namespace sluice::test {
namespace {

class ReadAheadLaw : public testing::TestWithParam<const char*> {
 protected:
  static std::string model() {
    return (std::filesystem::path(SLUICE_SOURCE_DIR) / "tests/golden" / GetParam()).string();
  }
  struct Seen {
    std::vector<std::vector<float>> logits;
    ExpertStats experts;
  };
  // A prompt in a chunk, tokens one by one, and a few at a time.
  static EngineOptions narrow() {
    EngineOptions options;
    options.prefill_chunk = 8;
    options.preload = false;
    return options;
  }
  static Seen run(std::uint64_t budget, ReadNamed read_named) {
    EngineOptions options = narrow();
    options.memory_bytes = budget;
    options.read_named = read_named;
    Runner runner(model(), options);
    std::vector<int> tokens;
    for (int token = 0; token < 24; ++token) tokens.push_back((5 + token * 41) % runner.engine().config().vocab_size());
    const std::span<const int> all(tokens);
    runner.feed(all.first(8), 8);
    runner.feed(all.subspan(8, 10), 1);
    runner.feed(all.subspan(18), 3);
    return {runner.record().logits, runner.engine().stats().experts};
  }
};

TEST_P(ReadAheadLaw, ChangesNoBit) {
  const std::uint64_t least = minimum_budget(model(), narrow()), most = resident_budget(model(), narrow());
  const Seen wanted = run(most, ReadNamed::never);
  EXPECT_EQ(wanted.experts.expected, 0u);
  std::uint64_t expected = 0, rightly = 0;
  for (const int part : {0, 2, 4, 6, 7, 8}) {
    SCOPED_TRACE(part);
    const Seen seen = run(least + (most - least) * static_cast<std::uint64_t>(part) / 8, ReadNamed::always);
    EXPECT_EQ(seen.logits, wanted.logits);
    EXPECT_EQ(seen.experts.requests, wanted.experts.requests);
    expected += seen.experts.expected;
    rightly += seen.experts.expected_rightly;
  }
  EXPECT_GT(rightly, 0u);
  EXPECT_GT(expected, rightly);
}

INSTANTIATE_TEST_SUITE_P(Models, ReadAheadLaw, testing::ValuesIn(kGoldenModels), golden_model_name);

}  // namespace
}  // namespace sluice::test
