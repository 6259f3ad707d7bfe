// Tests of long_text.h.
#include "text/long_text.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "text/blanks.h"
#include "text/utf8.h"

namespace sluice {
namespace {

std::vector<std::string> parts_of(const std::string& text, const LongTextRule& rule) {
  std::vector<std::string> parts;
  const auto outcome = cut_long_text(text, rule, [&](std::string_view part) -> Result<> {
    parts.emplace_back(part);
    return {};
  });
  EXPECT_TRUE(outcome);
  return parts;
}

// From Python 3.11: [c for c in range(0x110000) if chr(c).isspace()].
TEST(LongText, WhitespaceIsPythons) {
  const std::set<char32_t> spaces = {0x9,    0xa,    0xb,    0xc,    0xd,    0x1c,   0x1d,   0x1e,   0x1f,   0x20,
                                     0x85,   0xa0,   0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006,
                                     0x2007, 0x2008, 0x2009, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000};
  for (char32_t value = 0; value <= 0x10ffff; ++value)
    ASSERT_EQ(is_python_space(value), spaces.contains(value)) << static_cast<unsigned>(value);
}

TEST(LongText, RunsAndSlicesAreCutAtTheirLimit) {
  EXPECT_EQ(parts_of("aaaaaaa", {100, 3}), (std::vector<std::string>{"aaa", "aaa", "a"}));
  EXPECT_EQ(parts_of("aaa  bbb", {100, 3}), (std::vector<std::string>{"aaa  bbb"}));
  EXPECT_EQ(parts_of("aaaa bbbb", {100, 3}), (std::vector<std::string>{"aaa", "a bbb", "b"}));
  EXPECT_EQ(parts_of("a\t \n \u3000z", {100, 3}), (std::vector<std::string>{"a\t \n", " \u3000z"}));
  EXPECT_EQ(parts_of("abcdefgh", {5, 100}), (std::vector<std::string>{"abcde", "fgh"}));
  // A run does not go on over the border of a slice.
  EXPECT_EQ(parts_of("xaaaaaaa", {4, 3}), (std::vector<std::string>{"xaa", "a", "aaa", "a"}));
  EXPECT_EQ(parts_of("\u00e4\u00f6\u00fc\u00df", {3, 100}), (std::vector<std::string>{"\u00e4\u00f6\u00fc", "\u00df"}));
  EXPECT_TRUE(parts_of("", {3, 3}).empty());
}

// The rule once more, on code points: slices first, then cuts inside each.
std::vector<std::u32string> cut_again(const std::u32string& text, const LongTextRule& rule) {
  std::vector<std::u32string> parts;
  for (std::size_t begin = 0; begin < text.size(); begin += rule.slice) {
    const std::u32string slice = text.substr(begin, rule.slice);
    std::size_t part = 0, run = 0;
    for (std::size_t at = 0; at < slice.size(); ++at) {
      run = at > 0 && is_python_space(slice[at]) == is_python_space(slice[at - 1]) ? run + 1 : 1;
      if (run <= rule.run) continue;
      parts.push_back(slice.substr(part, at - part));
      part = at;
      run = 1;
    }
    parts.push_back(slice.substr(part));
  }
  return parts;
}

TEST(LongText, EqualsTheRuleOnRandomText) {
  std::mt19937 random(17);
  const char32_t alphabet[] = {U'a', U' ', U'\n', U'\u00e9', U'\u3000', U'\U0001f600'};
  for (int round = 0; round < 500; ++round) {
    const LongTextRule rule = {1 + random() % 40, 1 + random() % 5};
    std::u32string characters;
    for (auto left = random() % 120; left > 0; --left) {
      const char32_t character = alphabet[random() % 6];
      characters.append(1 + random() % 4, character);
    }
    std::string text;
    for (const char32_t character : characters) append_utf8(character, text);
    std::vector<std::string> expected;
    for (const std::u32string& part : cut_again(characters, rule)) {
      expected.emplace_back();
      for (const char32_t character : part) append_utf8(character, expected.back());
    }
    ASSERT_EQ(parts_of(text, rule), expected);
  }
}

TEST(LongText, StopsAtTheFirstError) {
  int calls = 0;
  const auto outcome = cut_long_text("aaaa", {2, 2}, [&](std::string_view) -> Result<> {
    ++calls;
    return fail(ErrorKind::bad_input, "no");
  });
  EXPECT_FALSE(outcome);
  EXPECT_EQ(calls, 1);
}

TEST(Blanks, AreStrippedAtBothEnds) {
  EXPECT_EQ(stripped("  a b\n"), "a b");
  EXPECT_EQ(stripped("\u2003\u00a0\u4f60\u3000\x1c"), "\u4f60");
  EXPECT_EQ(stripped("\u200b"), "\u200b");
  EXPECT_EQ(stripped(" \n\t"), "");
  EXPECT_EQ(stripped(""), "");
}

}  // namespace
}  // namespace sluice
