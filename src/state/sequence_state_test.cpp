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
    SequenceState state({.recurrent_floats = {0}, .logs = {kWidth}});
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

// Logs with a row every few tokens, and logs that forget: whatever is kept of a step, what is promised to be there has
// the last value written for it, and memory stays within what the shape says.
TEST(SequenceState, LogsThatForgetKeepWhatTheyPromise) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](int low, int high) {
      return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
    };
    const int every = pick(1, 5), limit = every > 1 || seed % 4 == 0 ? 0 : pick(1, 90);
    const LogShape shape(pick(1, 3), every, limit, seed % 2 == 0 ? 64 : 8);
    const StateShape whole{.recurrent_floats = {0}, .logs = {shape}};
    SequenceState state(whole);
    RowLog& log = state.log(0);
    std::vector<float> kept;  // the first number of each row
    float next = 1;
    for (int step = 0; step < 80; ++step) {
      const int rows = pick(1, 70), keep = step % 3 == 0 ? pick(0, rows) : rows, before = state.length();
      state.open(rows);
      std::vector<float> written = kept;
      for (int row = before / shape.every; row < (before + rows) / shape.every; ++row) {
        log.row(row)[0] = next;
        written.resize(static_cast<std::size_t>(row));
        written.push_back(next++);
      }
      const std::uint64_t most = whole.bytes(before + (shape.kept == 0 ? rows : 0)) + whole.pending_bytes(rows);
      const auto allocated =
          log.pages().size() * static_cast<std::size_t>(shape.page_rows * shape.width) * sizeof(float);
      if (shape.kept > 0) {
        ASSERT_LE(allocated, shape.bytes(before, rows)) << "seed " << seed;
      }
      ASSERT_LE(shape.bytes(before, rows), most) << "seed " << seed;
      state.commit(keep);
      written.resize(static_cast<std::size_t>(state.length() / shape.every));
      kept = written;
      const int first = shape.kept == 0 ? 0 : std::max(static_cast<int>(kept.size()) - shape.kept, 0);
      ASSERT_LE(log.first_row(), first) << "seed " << seed;
      for (int row = first; row < static_cast<int>(kept.size()); ++row)
        ASSERT_EQ(log.row(row)[0], kept[static_cast<std::size_t>(row)]) << "seed " << seed << " row " << row;
    }
  }
}

TEST(SequenceState, RecurrentPartsBeginAtZeroAndLieApart) {
  SequenceState state({.recurrent_floats = {5, 0, 7}, .logs = {0, 2, 0}});
  EXPECT_EQ(state.recurrent(0).size(), 5u);
  EXPECT_EQ(state.recurrent(1).size(), 0u);
  for (float value : state.recurrent(2)) EXPECT_EQ(value, 0.f);
  for (float& value : state.recurrent(0)) value = 1.f;
  for (float value : state.recurrent(2)) EXPECT_EQ(value, 0.f);
}

TEST(StateShape, CountsWholePages) {
  const StateShape shape{.recurrent_floats = {1000}, .logs = {10}};
  EXPECT_EQ(shape.bytes(65), 4096u + 2u * 64u * 10u * 4u);
}

}  // namespace
}  // namespace sluice
