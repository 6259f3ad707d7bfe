// Tests of sequence_state.h against a naive model that keeps all rows.
#include "state/sequence_state.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <span>
#include <vector>

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

// A conversation of numbers: a log keeps them, a recurrent part mixes them in place. Whoever goes on after a rollback
// feeds what is missing again.
class Mixed {
 public:
  inline static const StateShape kShape{.recurrent_floats = {2, 0, 0}, .logs = {0, 3, LogShape(1, 1, 20, 8)}};
  Mixed() : state_(std::make_unique<SequenceState>(kShape)) {}
  explicit Mixed(std::unique_ptr<SequenceState> state) : state_(std::move(state)) {}

  int feed(std::span<const float> values, int keep, bool certain) {
    state_->open(static_cast<int>(values.size()), certain);
    for (std::size_t row = 0; row < values.size(); ++row) {
      for (float& value : state_->log(1).row(state_->length() + static_cast<int>(row))) value = values[row];
      state_->log(2).row(state_->length() + static_cast<int>(row))[0] = values[row];
      for (float& mixed : state_->recurrent(0)) mixed = mixed * 0.5f + values[row];
    }
    return state_->commit(keep);
  }
  // Until all of `values` are there.
  void complete(std::span<const float> values) {
    feed(values.subspan(static_cast<std::size_t>(state_->length())), static_cast<int>(values.size()) - state_->length(),
         true);
  }
  void expect(std::span<const float> values) {
    ASSERT_EQ(state_->length(), static_cast<int>(values.size()));
    float mixed = 0;
    for (std::size_t position = 0; position < values.size(); ++position) {
      mixed = mixed * 0.5f + values[position];
      for (const float value : state_->log(1).row(static_cast<int>(position))) ASSERT_EQ(value, values[position]);
      if (static_cast<int>(position) < state_->log(2).first_needed(state_->length())) continue;
      ASSERT_EQ(state_->log(2).row(static_cast<int>(position))[0], values[position]);
    }
    for (const float value : state_->recurrent(0)) ASSERT_EQ(value, mixed);
  }
  SequenceState& state() { return *state_; }

 private:
  std::unique_ptr<SequenceState> state_;
};

TEST(SequenceState, AnyProgramWithRollbacksAndForksEqualsKeepingAllValues) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::vector<Mixed> twins(1);
    std::vector<std::vector<float>> kept(1);
    float next = 1;
    for (int step = 0; step < 60; ++step) {
      const std::size_t one = random() % twins.size();
      Mixed& twin = twins[one];
      std::vector<float>& values = kept[one];
      std::vector<float> more;
      for (std::size_t rows = 1 + random() % 70; rows > 0; --rows) more.push_back(next++);
      switch (random() % 5) {
        case 0: {
          const int keep = static_cast<int>(random() % (more.size() + 1));
          const int in_fact = twin.feed(more, keep, false);
          ASSERT_TRUE(in_fact == keep || in_fact == 0);
          values.insert(values.end(), more.begin(), more.begin() + in_fact);
          break;
        }
        case 1:
          twin.state().mark(3);
          break;
        case 2: {
          const int length = static_cast<int>(random() % (values.size() + 1));
          const int reached = twin.state().rollback(length);
          ASSERT_LE(reached, length);
          values.resize(static_cast<std::size_t>(length));
          twin.complete(values);
          break;
        }
        case 3:
          if (twins.size() < 4) {
            kept.push_back(values);
            twins.emplace_back(twin.state().fork());
            break;
          }
          [[fallthrough]];
        default:
          twin.feed(more, static_cast<int>(more.size()), true);
          values.insert(values.end(), more.begin(), more.end());
      }
      for (std::size_t other = 0; other < twins.size(); ++other) twins[other].expect(kept[other]);
    }
  }
}

TEST(SequenceState, GoesBackToMarksAndKeepsTheLatest) {
  Mixed mixed;
  std::vector<float> values;
  for (int mark = 1; mark <= 4; ++mark) {
    values.insert(values.end(), 10, static_cast<float>(mark));
    mixed.complete(values);
    mixed.state().mark(2);
  }
  EXPECT_EQ(mixed.state().marks(), 2);
  EXPECT_EQ(mixed.state().reachable(39), 30);
  EXPECT_EQ(mixed.state().reachable(29), 0);  // the marks at 10 and 20 were given up
  EXPECT_EQ(mixed.state().rollback(35), 30);
  EXPECT_EQ(mixed.state().marks(), 1);
  mixed.expect(std::span(values).first(30));
  EXPECT_EQ(mixed.state().rollback(29), 0);
  mixed.expect({});
}

TEST(SequenceState, NoMarkHoldsMoreThanTheShapeSays) {
  for (const int kept : {1, 7, 8, 63, 64, 65}) {
    const StateShape shape{.recurrent_floats = {0}, .logs = {LogShape(3, 1, kept, 8)}};
    SequenceState state(shape);
    for (int length = 1; length < 200; ++length) {
      state.open(1);
      state.commit(1);
      EXPECT_LE(state.log(0).bytes(), shape.mark_bytes()) << kept << " kept, " << length << " tokens";
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
