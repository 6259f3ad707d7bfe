// Tests of prompt_lookup.h.
#include "generate/prompt_lookup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<int> drafts(const std::vector<int>& text, int shortest = 2, int most = 3) {
  return look_up(text, shortest, most);
}

TEST(PromptLookup, SaysWhatFollowedTheLastTime) {
  EXPECT_THAT(drafts({1, 2, 3, 4, 5, 9, 1, 2}), ElementsAre(3, 4, 5));
  EXPECT_THAT(drafts({1, 2, 3, 4, 5, 9, 1, 2}, 2, 1), ElementsAre(3));
}

TEST(PromptLookup, PrefersTheLongestMatchThenTheLatest) {
  EXPECT_THAT(drafts({7, 1, 2, 3, 0, 8, 1, 2, 4, 0, 7, 1, 2}, 2, 1), ElementsAre(3));
  EXPECT_THAT(drafts({7, 1, 2, 3, 0, 7, 1, 2, 4, 0, 7, 1, 2}, 2, 1), ElementsAre(4));
}

TEST(PromptLookup, NeedsAMatchOfTheLengthAskedFor) {
  EXPECT_THAT(drafts({1, 2, 3, 9, 2}), IsEmpty());
  EXPECT_THAT(drafts({1, 2, 3, 9, 2}, 1, 2), ElementsAre(3, 9));
  EXPECT_THAT(drafts({}), IsEmpty());
  EXPECT_THAT(drafts({1}), IsEmpty());
}

TEST(PromptLookup, GoesRoundInALoop) {
  EXPECT_THAT(drafts({5, 1, 2, 1, 2, 1, 2}, 2, 5), ElementsAre(1, 2, 1, 2, 1));
  EXPECT_THAT(drafts({4, 4, 4}, 2, 4), ElementsAre(4, 4, 4, 4));
}

}  // namespace
}  // namespace sluice
