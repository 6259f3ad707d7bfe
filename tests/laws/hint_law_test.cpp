// In whole models, layers that are routed by a table ask for nothing whose read has not begun: whatever is missing was
// asked for when the pass began. And hints change no bit.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "support/engine/law_options.h"
#include "support/engine/recorded_run.h"

namespace sluice::test {
namespace {

constexpr int kHashLayers = 2;  // of the golden model a

std::string model() { return (std::filesystem::path(SLUICE_SOURCE_DIR) / "tests/golden/deepseek_v4/a").string(); }

struct Counts {
  std::uint64_t missed = 0, begun = 0;
};

// What a run asks for in the layers with tables, and in the others. Experts are asked for behind the call of `routed`.
struct Watched {
  std::map<bool, Counts> by_table;
  std::vector<float> logits;
};
Watched watched_run(std::uint64_t budget, int chunk) {
  EngineOptions options = law_options();
  options.memory_bytes = budget;
  options.prefill_chunk = chunk;
  options.preload = false;  // reads that no request asked for
  Runner run(model(), options);
  Watched seen;
  ExpertStats before;
  int last = -1;
  const auto settle = [&] {
    const ExpertStats now = run.engine().stats().experts;
    if (last >= 0) {
      Counts& counts = seen.by_table[last < kHashLayers];
      counts.missed += now.requests - before.requests - (now.hits - before.hits);
      counts.begun += now.begun - before.begun;
    }
    before = now;
  };
  run.engine().observe(
      [&](int layer, const Routes&) {
        settle();
        last = layer;
      },
      [](int, Rows) {});
  const std::unique_ptr<SequenceState> state = run.engine().new_state();
  std::vector<int> tokens;
  for (int token = 0; token < 60; ++token) tokens.push_back(3 + (token * 37) % 500);
  for (std::size_t first = 0; first < tokens.size(); first += static_cast<std::size_t>(chunk)) {
    const auto count = std::min(static_cast<std::size_t>(chunk), tokens.size() - first);
    EXPECT_TRUE(run.engine().step(*state, std::span(tokens).subspan(first, count), true).has_value());
  }
  settle();
  seen.logits.assign(run.engine().last_logits().begin(), run.engine().last_logits().end());
  return seen;
}

TEST(HintLaw, ReadsOfTableLayersBeginWithTheToken) {
  const std::uint64_t least = minimum_budget(model()), most = resident_budget(model());
  const Watched all = watched_run(most, 1);
  for (const int chunk : {1, 4})
    for (const int part : {2, 4, 8}) {
      SCOPED_TRACE(testing::Message() << "chunk " << chunk << ", part " << part);
      const Watched seen = watched_run(least + (most - least) * static_cast<std::uint64_t>(part) / 8, chunk);
      const Counts table = seen.by_table.at(true), scored = seen.by_table.at(false);
      EXPECT_GT(table.missed, 5u);
      EXPECT_EQ(table.begun, table.missed);
      EXPECT_EQ(scored.begun, 0u);
      EXPECT_EQ(seen.logits, all.logits);
    }
  const Watched tight = watched_run(least, 1);  // fewer slots than two layers need: some have to wait
  EXPECT_GT(tight.by_table.at(true).begun, 5u);
  EXPECT_EQ(tight.logits, all.logits);
}

}  // namespace
}  // namespace sluice::test
