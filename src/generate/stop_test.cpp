// Tests of stop.h: the result does not depend on how the text was cut.
#include "generate/stop.h"

#include <gtest/gtest.h>

#include <random>

namespace sluice {
namespace {

std::string through(const std::vector<std::string>& stops, const std::string& text, std::size_t piece,
                    bool* met = nullptr) {
  StopStrings filter(stops);
  std::string shown;
  for (std::size_t at = 0; at < text.size(); at += piece)
    shown += filter.push(std::string_view(text).substr(at, piece));
  if (met != nullptr) *met = filter.met();
  return shown + filter.finish();
}

TEST(StopStrings, CutsBeforeTheFirstOneAtEverySplit) {
  for (std::size_t piece = 1; piece < 20; ++piece) {
    bool met = false;
    EXPECT_EQ(through({"###", "aab"}, "one aaab two ###", piece, &met), "one a");
    EXPECT_TRUE(met);
    EXPECT_EQ(through({"xyz"}, "an xy and xyx end xy", piece, &met), "an xy and xyx end xy");
    EXPECT_FALSE(met);
  }
}

// The rule by itself: the first stop string that is complete, the longest of those; text before it is shown.
std::string cut_at_once(const std::vector<std::string>& stops, const std::string& text, bool* met) {
  for (std::size_t end = 0; end <= text.size(); ++end)
    for (std::size_t begin = 0; begin < end; ++begin)
      for (const std::string& stop : stops)
        if (stop == text.substr(begin, end - begin)) {
          *met = true;
          return text.substr(0, begin);
        }
  *met = false;
  return text;
}

TEST(StopStrings, HowTextIsCutChangesNothing) {
  EXPECT_EQ(through({"abcd", "bc"}, "xabcd", 1), "xa");
  EXPECT_EQ(through({"abcd", "bc"}, "xabcd", 5), "xa");
  std::mt19937 random(59);
  const auto word = [&](std::size_t most) {
    std::string text;
    for (auto left = 1 + random() % most; left > 0; --left) text += static_cast<char>('a' + random() % 2);
    return text;
  };
  for (int round = 0; round < 5000; ++round) {
    const std::vector<std::string> stops = {word(6), word(6), word(3)};
    const std::string text = word(20);
    bool expected_met = false, met = false;
    const std::string expected = cut_at_once(stops, text, &expected_met);
    ASSERT_EQ(through(stops, text, 1 + random() % 8, &met), expected) << text;
    ASSERT_EQ(met, expected_met);
  }
}

TEST(StopStrings, HoldsBackOnlyWhatMayBeABeginning) {
  StopStrings filter({"stop"});
  EXPECT_EQ(filter.push("text st"), "text ");
  EXPECT_EQ(filter.push("ill"), "still");
  EXPECT_EQ(filter.push(" stop after"), " ");
  EXPECT_TRUE(filter.met());
  EXPECT_EQ(filter.push("more"), "");
  EXPECT_EQ(filter.finish(), "");
}

}  // namespace
}  // namespace sluice
