// Memory that is refused in the middle of a pass, or beside it, ends who ran by name; those who come after get the
// answers that they would have got.
#include <gtest/gtest.h>

#include <new>

#include "engine/kept_sequences.h"
#include "support/engine/law_options.h"
#include "support/engine/requests.h"
#include "support/golden_models.h"

namespace sluice::test {
namespace {

class Refusal : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Engine> open(bool roomy) const {
    EngineOptions options = law_options();
    options.slots = 2;
    options.prefill_chunk = 32;
    options.speculate = Speculate::lookup;
    return open_golden(GetParam(), options, roomy);
  }
  static Request request(int prompt, int max_tokens) {
    Request made;
    for (int token = 0; token < prompt; ++token) made.prompt.push_back(3 + token % 7);
    made.max_tokens = max_tokens;
    return made;
  }
};

class Told final : public RequestListener {
 public:
  bool cancelled() const override { return false; }
  bool token(const TokenEvent&) override { return true; }
  void finished(Result<Generation> made) override {
    ++times;
    if (!made) error = std::move(made.error());
  }
  std::optional<Error> error;
  int times = 0;
};

void expect_named(const Told& told) {
  EXPECT_EQ(told.times, 1);
  ASSERT_TRUE(told.error.has_value());
  EXPECT_EQ(told.error->kind, ErrorKind::refused);
  EXPECT_NE(told.error->what.find("the system refuses more memory; the budget is "), std::string::npos)
      << told.error->what;
  EXPECT_NE(told.error->hint.find("--memory "), std::string::npos) << told.error->hint;
}

TEST_P(Refusal, InsideALayer) {
  for (const bool roomy : {true, false}) {
    const std::unique_ptr<Engine> engine = open(roomy), plain = open(roomy);
    const int layers = engine->config().layers();
    for (const int at : {0, layers - 1}) {
      SCOPED_TRACE(at);
      const auto told = std::make_shared<Told>();
      engine->observe(
          [at](int layer, const Routes&) {
            if (layer == at) throw std::bad_alloc();
          },
          [at](int layer, Rows) {
            if (layer == at) throw std::bad_alloc();
          });
      Batcher batcher(*engine);
      batcher.add(request(50, 5), told);
      for (int step = 0; step < 10 && !batcher.idle(); ++step) batcher.step();
      EXPECT_TRUE(batcher.idle());
      expect_named(*told);
      engine->observe({}, {});
      plain->kept().clear();
      EXPECT_EQ(alone(*engine, request(40, 8)), alone(*plain, request(40, 8)));
    }
  }
}

TEST_P(Refusal, BesideAStepItEndsThoseWhoRunAndNobodyWhoWaits) {
  const std::unique_ptr<Engine> engine = open(true), plain = open(true);
  Request drafting = request(20, 20);
  drafting.drafts = [](std::span<const int>, int) -> std::vector<int> { throw std::bad_alloc(); };
  const auto first = std::make_shared<Told>(), second = std::make_shared<Told>();
  const auto waits = std::make_shared<Recorder>();
  Batcher batcher(*engine);
  batcher.add(drafting, first);
  batcher.add(drafting, second);
  batcher.add(request(30, 8), waits);
  while (!batcher.idle()) batcher.step();
  expect_named(*first);
  expect_named(*second);
  EXPECT_EQ(waits->answer, alone(*plain, request(30, 8)));
}

INSTANTIATE_TEST_SUITE_P(Models, Refusal, testing::Values("kimi_k3/a", "olmoe/a", "glm_dsa/a", "deepseek_v4/a"),
                         golden_model_name);

}  // namespace
}  // namespace sluice::test
