// Every combination of budget, threads, instruction set, prefill chunk and way of reading gives the same answer, for
// every family. Only the plain kernels, which take twenty times as long as the others and never see a file, meet the
// ways of reading in turns.
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

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
  const std::vector<std::string> ways = {"direct", "buffered", "drop"};  // "auto" is one of them
  int runs = 0, turn = budget;
  for (const std::string& threads : axes.threads)
    for (const std::string& isa : axes.isa)
      for (const std::string& chunk : axes.chunk)
        for (const std::string& io : isa == "scalar" ? std::vector{ways[turn++ % 3]} : ways) {
          const Setting setting{.budget = budget, .threads = threads, .isa = isa, .chunk = chunk, .io = io};
          SCOPED_TRACE(setting.text());
          ASSERT_EQ(generated(model, request + flags_of(setting, model)).answer(), expected);
          ++runs;
        }
  EXPECT_GE(runs, 9);
}
INSTANTIATE_TEST_SUITE_P(FamiliesAndBudgets, Matrix,
                         testing::Combine(testing::ValuesIn(kFamilies), testing::Range(0, kBudgets)));

}  // namespace
}  // namespace sluice::test
