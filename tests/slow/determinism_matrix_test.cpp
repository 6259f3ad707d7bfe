// Every combination of budget, threads, instruction set, prefill chunk and way of reading gives the same answer, for
// every family.
#include <gtest/gtest.h>

#include <tuple>

#include "support/sluice_program.h"

namespace sluice::test {
namespace {

class Matrix : public testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(Matrix, GivesOneAnswer) {
  const auto& [family, budget] = GetParam();
  const std::filesystem::path& model = subject(family).model;
  const Arguments request = subject(family).prompt + Arguments{"--max-tokens", "8"};
  const std::string expected = generated(model, request).answer();
  const Axes axes = all_axes();
  int runs = 0;
  for (const std::string& threads : axes.threads)
    for (const std::string& isa : axes.isa)
      for (const std::string& chunk : axes.chunk)
        for (const std::string& io : axes.io) {
          if (io == "auto") continue;  // is one of the others
          const Setting setting{.budget = budget, .threads = threads, .isa = isa, .chunk = chunk, .io = io};
          SCOPED_TRACE(setting.text());
          ASSERT_EQ(generated(model, request + flags_of(setting, model)).answer(), expected);
          ++runs;
        }
  EXPECT_GE(runs, 27);
}
INSTANTIATE_TEST_SUITE_P(FamiliesAndBudgets, Matrix,
                         testing::Combine(testing::ValuesIn(kFamilies), testing::Range(0, kBudgets)));

}  // namespace
}  // namespace sluice::test
