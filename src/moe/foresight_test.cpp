// Tests of foresight.h.
#include "moe/foresight.h"

#include <gtest/gtest.h>

#include <tuple>

#include "compute/reference.h"

namespace sluice {
namespace {

// Two rows of three numbers, which are their own scores: the best expert is where the largest is.
struct Stream {
  explicit Stream(int first, int second) : floats(6, 0.f) {
    floats[static_cast<std::size_t>(first)] = 1;
    floats[static_cast<std::size_t>(3 + second)] = 1;
  }
  Rows view() { return {floats.data(), 2, 3, 3}; }
  std::vector<float> floats;
};

using Said = std::tuple<int, AskedBefore, std::vector<int>>;

TEST(Foresight, AsksAboutTheStreamBeforeTheAttentionAndBeforeTheLastExperts) {
  std::vector<Said> said;
  const ExpertsForeseen told = [&](int layer, AskedBefore when, const ExpertRanking& named) {
    EXPECT_EQ(named.rows, 2);
    EXPECT_EQ(named.count, 2);
    said.emplace_back(layer, when, std::vector{named.of(0)[0], named.of(1)[0]});
  };
  std::vector<int> marks;
  const auto router = [&](Rows stream, int mark) {
    marks.push_back(mark);
    return RouterScores{stream, {}, {.top_k = 1}};
  };
  Foresight foresight;
  ReferenceOps ops;
  for (int pass = 0; pass < 2; ++pass) {
    said.clear(), marks.clear();
    foresight.begin(told);
    // Streams that are overwritten between the halves, as a pass does.
    Stream stream(0, 1);
    foresight.note(stream.view(), 10);
    stream = Stream(1, 2);
    foresight.note(stream.view(), 11);
    foresight.ask(ops, 0, router);
    stream = Stream(2, 0);
    foresight.note(stream.view(), 12);
    stream = Stream(1, 1);
    foresight.note(stream.view(), 13);
    foresight.ask(ops, 1, router);
    EXPECT_EQ(said, (std::vector<Said>{{0, AskedBefore::attention, {0, 1}},
                                       {1, AskedBefore::attention, {2, 0}},
                                       {1, AskedBefore::last_experts, {1, 2}}}));
    EXPECT_EQ(marks, (std::vector<int>{10, 12, 11}));
  }
}

TEST(Foresight, AsksNobodyWithoutAListener) {
  Foresight foresight;
  ReferenceOps ops;
  Stream stream(0, 1);
  foresight.begin({});
  foresight.note(stream.view());
  foresight.note(stream.view());
  foresight.ask(ops, 0, [](Rows, int) -> RouterScores {
    ADD_FAILURE();
    return {};
  });
}

}  // namespace
}  // namespace sluice
