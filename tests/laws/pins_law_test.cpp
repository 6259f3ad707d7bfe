// Pinned experts change which experts are in memory and no bit of a result; and a run of several turns misses what the
// replay of its routing misses.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <utility>

#include "residency/replay.h"
#include "support/engine/law_options.h"
#include "support/engine/recorded_run.h"
#include "support/golden_models.h"

namespace sluice::test {
namespace {

constexpr int kTurns = 4, kPrompt = 6, kAnswer = 5;

class PinsLaw : public testing::TestWithParam<const char*> {
 protected:
  static std::string model() {
    return (std::filesystem::path(SLUICE_SOURCE_DIR) / "tests/golden" / GetParam()).string();
  }
  static EngineOptions options(int pin_percent) {
    EngineOptions options = law_options();
    options.prefill_chunk = kPrompt;
    options.preload = false;
    options.pin_percent = pin_percent;
    options.memory_folders = {"/nowhere", "/nowhere"};  // nobody else's needs count
    return options;
  }
  struct Seen {
    std::vector<std::vector<float>> logits;
    EngineStats stats;
    Trace trace;
  };
  // Prompts in a chunk, answers token by token.
  static Seen run(std::uint64_t budget, int pin_percent) {
    EngineOptions wanted = options(pin_percent);
    wanted.memory_bytes = budget;
    Runner runner(model(), wanted);
    Engine& engine = runner.engine();
    Seen seen;
    seen.trace.layers = engine.expert_table().layers();
    seen.trace.experts = engine.expert_table().experts();
    seen.trace.top_k = engine.config().experts_per_token();
    seen.trace.slots = engine.plan().expert_slots;
    seen.trace.layer_bytes.assign(static_cast<std::size_t>(seen.trace.layers), 1);
    for (int turn = 0, token = 0; turn < kTurns; ++turn) {
      for (int step = 0; step <= kAnswer; ++step) {
        std::vector<int> tokens;
        for (int row = 0; row < (step == 0 ? kPrompt : 1); ++row, ++token)
          tokens.push_back((5 + token * 41 % (17 + 100 * turn)) % engine.config().vocab_size());
        runner.feed(tokens, kPrompt);
        add_lines(runner.record(), tokens.size(), turn > 0 && step == 0, seen.trace);
      }
      engine.end_turn();
    }
    seen.logits = runner.record().logits;
    seen.stats = engine.stats();
    return seen;
  }

 private:
  // The requests of the last pass.
  static void add_lines(const RecordedRun& record, std::size_t rows, bool begins_turn, Trace& trace) {
    for (std::size_t layer = 0; layer < record.routes.back().size(); ++layer) {
      std::map<int, int> rows_of;
      for (std::size_t row = record.routes.size() - rows; row < record.routes.size(); ++row)
        for (const Route& route : record.routes[row][layer]) ++rows_of[route.expert];
      if (rows_of.empty()) continue;
      TraceLine line;
      line.layer = static_cast<int>(layer);
      line.begins_turn = std::exchange(begins_turn, false);
      for (const auto& [expert, count] : rows_of) line.uses.push_back({expert, count});
      trace.lines.push_back(std::move(line));
    }
  }
};

TEST_P(PinsLaw, ChangeNoBitAndMissWhatTheReplayMisses) {
  const std::uint64_t least = minimum_budget(model(), options(0)), most = resident_budget(model(), options(0));
  const Seen wanted = run(most, 0);
  EXPECT_EQ(wanted.stats.pins.pinned, 0);
  std::uint64_t pinned_hits = 0;
  for (const int part : {0, 2, 4, 6, 7, 8}) {
    SCOPED_TRACE(part);
    const Seen seen = run(least + (most - least) * static_cast<std::uint64_t>(part) / 8, 50);
    EXPECT_EQ(seen.logits, wanted.logits);
    const int slots = seen.trace.slots;
    PolicyShape shape = shape_of(seen.trace, slots);
    shape.pin_percent = 50;
    const ReplayCounts replayed = replay_in_slots(seen.trace, *make_policy("pinned", shape), slots);
    EXPECT_EQ(seen.stats.experts.requests, replayed.requests);
    if (seen.stats.experts.begun == 0) {  // no layer was asked for before its turn
      EXPECT_EQ(seen.stats.experts.hits, replayed.hits);
    }
    EXPECT_LE(seen.stats.pins.pinned, slots / 2);
    pinned_hits += seen.stats.pins.hits;
  }
  EXPECT_GT(pinned_hits, 0u);
}

INSTANTIATE_TEST_SUITE_P(Models, PinsLaw, testing::ValuesIn(kGoldenModels), golden_model_name);

}  // namespace
}  // namespace sluice::test
