// Tests of units.h.
#include "base/units.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Units, SizesArePowersOf1024) {
  EXPECT_EQ(parse_size("512M", "--memory").value(), 512ull << 20);
  EXPECT_EQ(parse_size("16g", "--memory").value(), 16ull << 30);
  EXPECT_EQ(parse_size("1.5GiB", "--memory").value(), 3ull << 29);
  EXPECT_EQ(parse_size("1048576", "--memory").value(), 1048576u);
}

TEST(Units, NonsenseIsRefusedByNameOfTheFlag) {
  for (const char* text : {"", "G", "-1", "5X", "nan", "inf", "1e30", "12MM", "0x10"}) {
    const auto size = parse_size(text, "--memory");
    ASSERT_FALSE(size) << text;
    EXPECT_EQ(size.error().kind, ErrorKind::usage);
    EXPECT_NE(size.error().what.find("--memory"), std::string::npos);
  }
}

TEST(Units, PrintsForPeople) {
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(1536), "1.50 KiB");
  EXPECT_EQ(format_bytes(17547264), "16.7 MiB");
  EXPECT_EQ(format_seconds(0.0853), "85 ms");
  EXPECT_EQ(format_seconds(245), "4 min 05 s");
  EXPECT_EQ(format_count(497220), "497,220");
  EXPECT_EQ(format_count(12), "12");
}

}  // namespace
}  // namespace sluice
