// Tests of stop.h: the result does not depend on how the text was cut.
#include "generate/stop.h"

#include <gtest/gtest.h>

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
