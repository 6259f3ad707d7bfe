// Rows of lm_head that no token belongs to are never chosen, however large their logits.
#include <gtest/gtest.h>

#include <filesystem>

#include "engine/generate.h"
#include "support/damage.h"
#include "support/engine/recorded_run.h"
#include "support/must.h"
#include "support/temp_dir.h"

namespace sluice::test {
namespace {

constexpr int kTokens = 548, kWidth = 64;  // of glm_dsa/a; four more rows have no token

TEST(Padding, IsNeverChosen) {
  const TempDir dir;
  copy_checkpoint(std::filesystem::path(SLUICE_SOURCE_DIR) / "tests/golden/glm_dsa/a", dir / "model");
  // bf16 1024 and -1024: whatever the hidden vector is, one of the two rows beats every token.
  for (const int row : {kTokens, kTokens + 1})
    for (int column = 0; column < kWidth; ++column) {
      const auto place = static_cast<std::uint64_t>(2 * (row * kWidth + column));
      set_tensor_byte(dir / "model", "lm_head.weight", place, 0x80);
      set_tensor_byte(dir / "model", "lm_head.weight", place + 1, row == kTokens ? 0x44 : 0xc4);
    }
  EngineOptions options;
  options.memory_bytes = resident_budget((dir / "model").string());
  Survey found = must(survey(must(know_model((dir / "model").string())), options));
  const MemoryPlan plan = must(plan_memory(found));
  const std::unique_ptr<Engine> engine = must(Engine::open(std::move(found), plan));
  EXPECT_EQ(engine->choosable_logits().size(), static_cast<std::size_t>(kTokens));
  for (const float temperature : {0.0f, 1.0f}) {
    int beaten = 0;
    const auto see = [&](std::span<const float> logits) { beaten += argmax(logits) >= kTokens; };
    const auto go_on = [](int) { return true; };
    const auto prefilled = [](std::size_t, std::size_t) {};
    Request request;
    request.prompt = {1, 2, 3};
    request.max_tokens = 8;
    request.sampling.temperature = temperature;
    const Generation made = must(generate(*engine, request, {see, go_on, prefilled}, CancelFlag()));
    EXPECT_EQ(beaten, 8);
    for (const int id : made.ids) EXPECT_LT(id, kTokens);
  }
}

}  // namespace
}  // namespace sluice::test
