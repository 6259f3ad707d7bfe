// Tests of state_file.h: what is loaded equals what was saved, and nothing else is ever loaded.
#include "state/state_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/must.h"
#include "support/temp_dir.h"

namespace sluice {
namespace {

LogShape narrow(int width) {
  LogShape shape(width);
  shape.format = RowFormat::int8;
  return shape;
}

const StateShape kShape{.recurrent_floats = {5, 0, 0, 0}, .logs = {0, 3, LogShape(2, 1, 9, 8), narrow(5)}};
const StateShape kOther{.recurrent_floats = {0}, .logs = {2}};
constexpr int kLength = 70;  // more than a page
constexpr int kMarks[] = {30, 69};

std::unique_ptr<SequenceState> filled(const StateShape& shape) {
  auto state = std::make_unique<SequenceState>(shape);
  float next = 1;
  state->restore(kLength);
  for (int part = 0; part < state->logs(); ++part) {
    for (float& value : state->recurrent(part)) value = next++;
    if (state->log(part).width() == 0) continue;
    for (int row = state->log(part).first_needed(kLength); row < kLength; ++row)
      for (float& value : state->log(part).row(row)) value = next++;
  }
  if (shape.mark_bytes() == 0) return state;
  for (const int length : kMarks) {
    state->restore_mark(length);
    const int mark = state->marks() - 1;
    for (float& value : state->marked_recurrent(mark, 0)) value = next++;
    RowLog& log = *state->marked_log(mark, 2);
    for (int row = log.first_needed(length); row < length; ++row)
      for (float& value : log.row(row)) value = next++;
  }
  return state;
}

void expect_same(SequenceState& state, SequenceState& wanted) {
  ASSERT_EQ(state.length(), wanted.length());
  for (int part = 0; part < state.logs(); ++part) {
    EXPECT_TRUE(std::ranges::equal(state.recurrent(part), wanted.recurrent(part)));
    if (state.log(part).width() == 0) continue;
    for (int row = state.log(part).first_needed(state.length()); row < state.length(); ++row)
      EXPECT_TRUE(std::ranges::equal(state.log(part).row(row), wanted.log(part).row(row))) << part << " " << row;
  }
}

class StateFile : public testing::Test {
 protected:
  StateFile() : path_((scratch_ / "saved").string()) {
    for (int id = 0; id <= kLength; ++id) tokens_.ids.push_back(id * 7);
    tokens_.prompt = 12;
    const auto one = filled(kShape), two = filled(kOther);
    SequenceState* const both[] = {one.get(), two.get()};
    test::must(save_conversation(path_, "the owner", tokens_, both));
    std::ifstream in(path_, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(in), {});
  }
  Result<SavedConversation> load(std::string_view owner = "the owner", std::uint64_t room = UINT64_MAX) const {
    const StateShape shapes[] = {kShape, kOther};
    return load_conversation(path_, owner, shapes, room);
  }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  // Every place in the beginning and at the end, and some between.
  std::size_t step(std::size_t place) const { return place < 160 || place + 20 > bytes_.size() ? 1 : 17; }
  void expect_refused(std::string_view word) const {
    const Result<SavedConversation> loaded = load();
    ASSERT_FALSE(loaded);
    EXPECT_NE(loaded.error().what.find(path_), std::string::npos);
    EXPECT_NE(loaded.error().what.find(word), std::string::npos) << loaded.error().what;
  }

  test::TempDir scratch_;
  std::string path_;
  SavedTokens tokens_;
  std::string bytes_;
};

TEST_F(StateFile, ComesBackAsItWas) {
  const SavedConversation loaded = test::must(load());
  EXPECT_EQ(loaded.tokens.ids, tokens_.ids);
  EXPECT_EQ(loaded.tokens.prompt, 12);
  ASSERT_EQ(loaded.states.size(), 2u);
  for (std::size_t which = 0; which < 2; ++which) {
    const auto wanted = filled(which == 0 ? kShape : kOther);
    expect_same(*loaded.states[which], *wanted);
  }
}

TEST_F(StateFile, GoesBackToItsMarks) {
  for (const int wanted : {69, 68, 30, 29}) {
    SavedConversation loaded = test::must(load());
    SequenceState& state = *loaded.states.front();
    const auto same = filled(kShape);
    const int reached = same->rollback(wanted);
    EXPECT_EQ(reached, wanted >= 69 ? 69 : wanted >= 30 ? 30 : 0);
    ASSERT_EQ(state.rollback(wanted), reached);
    expect_same(state, *same);
  }
}

TEST_F(StateFile, MarksWithoutRoomAreLeftOut) {
  const std::uint64_t states = kShape.bytes(kLength) + kOther.bytes(kLength), mark = kShape.mark_bytes();
  const auto marks = [&](std::uint64_t room) {
    const SavedConversation loaded = test::must(load("the owner", room));
    expect_same(*loaded.states.front(), *filled(kShape));
    return loaded.states.front()->marks();
  };
  EXPECT_EQ(marks(0), 0);
  EXPECT_EQ(marks(states + mark - 1), 0);
  EXPECT_EQ(marks(states + mark), 1);
  EXPECT_EQ(marks(states + 2 * mark), 2);
  SavedConversation loaded = test::must(load("the owner", states + mark));
  SequenceState& state = *loaded.states.front();
  const auto same = filled(kShape);
  same->rollback(69);
  ASSERT_EQ(state.rollback(69), 69) << "the latest stays";
  expect_same(state, *same);
}

TEST_F(StateFile, CutShortAnywhereIsRefused) {
  for (std::size_t length = 0; length < bytes_.size(); length += step(length)) {
    write(bytes_.substr(0, length));
    expect_refused(length < 8 ? "is no saved conversation" : "is cut short");
  }
  write(bytes_ + "x");
  expect_refused("damaged");
}

TEST_F(StateFile, AnyDamagedByteIsRefused) {
  for (std::size_t place = 0; place < bytes_.size(); place += step(place)) {
    std::string damaged = bytes_;
    damaged[place] = static_cast<char>(damaged[place] ^ 0x21);
    write(damaged);
    expect_refused("");
  }
}

TEST_F(StateFile, WhatBelongsToOthersIsRefused) {
  const Result<SavedConversation> loaded = load("another");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind, ErrorKind::bad_input);
  EXPECT_NE(loaded.error().what.find("another checkpoint"), std::string::npos);
  std::string later = bytes_;
  later[8] = 1;
  write(later);
  expect_refused("version 1");
  std::filesystem::remove(path_);
  expect_refused("cannot read");
}

}  // namespace
}  // namespace sluice
