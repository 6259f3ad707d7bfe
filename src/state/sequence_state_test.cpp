// Tests of sequence_state.h against a naive model that keeps all rows.
#include "state/sequence_state.h"

#include <gtest/gtest.h>

#include <random>

namespace sluice {
namespace {

TEST(SequenceState, AnyProgramOfOpenWriteCommitEqualsKeepingAllRows) {
  constexpr int kWidth = 3;
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    SequenceState state({.recurrent_floats = {0}, .log_width = {kWidth}});
    std::vector<std::vector<float>> kept;
    float next = 1;
    for (int step = 0; step < 60; ++step) {
      const int rows = 1 + static_cast<int>(random() % 70),
                keep = static_cast<int>(random() % static_cast<unsigned>(rows + 1));
      state.open(rows);
      for (int row = 0; row < rows; ++row) {
        const std::span<float> written = state.log(0).row(state.length() + row);
        std::vector<float> values;
        for (float& value : written) values.push_back(value = next++);
        if (row < keep) kept.push_back(values);
      }
      state.commit(keep);
      ASSERT_EQ(state.length(), static_cast<int>(kept.size())) << "seed " << seed;
    }
    const std::span<const float* const> pages = state.log(0).pages();
    for (std::size_t position = 0; position < kept.size(); ++position)
      for (std::size_t column = 0; column < kWidth; ++column)
        ASSERT_EQ(pages[position / 64][position % 64 * kWidth + column], kept[position][column]) << "seed " << seed;
  }
}

TEST(SequenceState, RecurrentPartsBeginAtZeroAndLieApart) {
  SequenceState state({.recurrent_floats = {5, 0, 7}, .log_width = {0, 2, 0}});
  EXPECT_EQ(state.recurrent(0).size(), 5u);
  EXPECT_EQ(state.recurrent(1).size(), 0u);
  for (float value : state.recurrent(2)) EXPECT_EQ(value, 0.f);
  for (float& value : state.recurrent(0)) value = 1.f;
  for (float value : state.recurrent(2)) EXPECT_EQ(value, 0.f);
}

TEST(StateShape, CountsWholePages) {
  const StateShape shape{.recurrent_floats = {1000}, .log_width = {10}};
  EXPECT_EQ(shape.bytes(65), 4096u + 2u * 64u * 10u * 4u);
}

}  // namespace
}  // namespace sluice
