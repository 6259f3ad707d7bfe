// Every combination of budget, threads, instruction set, prefill chunk and way of reading gives the same answer.
#include <gtest/gtest.h>

#include "support/sluice_program.h"

namespace sluice::test {
namespace {

const Arguments kRequest = {"--prompt",
                            "The capital of France is Paris. The capital of Italy is Rome. The capital of Japan is "
                            "Tokyo. The capital of Spain is Madrid. One two three four five six seven eight nine ten. "
                            "The sky is blue. Snow is white. Grass is green. A cat has four legs. Once upon a time",
                            "--max-tokens", "8"};

class Matrix : public testing::TestWithParam<int> {};

TEST_P(Matrix, GivesOneAnswer) {
  const std::string expected = generated(demo_model(), kRequest).answer();
  const Axes axes = all_axes();
  int runs = 0;
  for (const std::string& threads : axes.threads)
    for (const std::string& isa : axes.isa)
      for (const std::string& chunk : axes.chunk)
        for (const std::string& io : axes.io) {
          const Setting setting{.budget = GetParam(), .threads = threads, .isa = isa, .chunk = chunk, .io = io};
          SCOPED_TRACE(setting.text());
          ASSERT_EQ(generated(demo_model(), kRequest + flags_of(setting, demo_model())).answer(), expected);
          ++runs;
        }
  EXPECT_GE(runs, 36);
}
INSTANTIATE_TEST_SUITE_P(Budgets, Matrix, testing::Range(0, kBudgets));

}  // namespace
}  // namespace sluice::test
