// Tests of split_pattern.h. The families' own patterns are tested beside their tokenizers.
#include "text/split_pattern.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/must.h"

namespace sluice {
namespace {

std::vector<std::string> split(std::string_view pattern, std::string_view text) {
  std::vector<std::string> pieces;
  const SplitPattern compiled = test::must(SplitPattern::compile(pattern));
  test::must(compiled.split(text, [&](std::string_view piece) { pieces.emplace_back(piece); }));
  return pieces;
}

TEST(SplitPattern, PiecesCoverTheText) {
  EXPECT_EQ(split(R"(\p{L}+|\p{N}|.)", "ab\u00e91x!2"), (std::vector<std::string>{"ab\u00e9", "1", "x", "!", "2"}));
  EXPECT_TRUE(split(R"(\p{L}+)", "").empty());
  // Look-ahead sees the text behind the piece.
  EXPECT_EQ(split(R"(a(?=b)|aa|.)", "aab"), (std::vector<std::string>{"aa", "b"}));
  // Classes such as \s are Unicode's, not ASCII's.
  EXPECT_EQ(split(R"(\s+|\S+)", "a\u2003b"), (std::vector<std::string>{"a", "\u2003", "b"}));
  // Caseless matching folds by Unicode: U+017F is a form of s.
  EXPECT_EQ(split(R"(a(?i:'s)?|.)", "a'\u017fa"), (std::vector<std::string>{"a'\u017f", "a"}));
}

TEST(SplitPattern, GapsAndEmptyMatchesAreErrors) {
  for (const char* pattern : {R"(\p{L}+)", R"(\p{L}*)"}) {
    const SplitPattern compiled = test::must(SplitPattern::compile(pattern));
    const auto outcome = compiled.split("ab cd", [](std::string_view) {});
    ASSERT_FALSE(outcome) << pattern;
    EXPECT_EQ(outcome.error().kind, ErrorKind::bug);
    EXPECT_NE(outcome.error().what.find("byte 2"), std::string::npos) << outcome.error().what;
  }
}

TEST(SplitPattern, ABadPatternIsAnErrorWithItsPlace) {
  const auto compiled = SplitPattern::compile("ab(");
  ASSERT_FALSE(compiled);
  EXPECT_NE(compiled.error().what.find("offset 3"), std::string::npos) << compiled.error().what;
}

TEST(SplitPattern, ALibraryThatGivesUpIsAnError) {
  // Catastrophic on purpose: every way to cut the run is tried before the end fails.
  const SplitPattern compiled = test::must(SplitPattern::compile("(a+)+b|c"));
  const auto outcome = compiled.split(std::string(64, 'a'), [](std::string_view) {});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::bad_input);
  EXPECT_NE(outcome.error().what.find("limit"), std::string::npos) << outcome.error().what;
}

}  // namespace
}  // namespace sluice
