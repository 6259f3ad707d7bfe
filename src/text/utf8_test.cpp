// Tests of utf8.h and utf8_stream.h.
#include "text/utf8.h"

#include <gtest/gtest.h>

#include <random>

#include "text/utf8_stream.h"

namespace sluice {
namespace {

TEST(Utf8, EveryCharacterComesBack) {
  for (char32_t value = 0; value <= 0x10ffff; ++value) {
    if (value == 0xd800) value = 0xe000;  // surrogates are no characters
    std::string text;
    append_utf8(value, text);
    const Utf8Step step = utf8_step(text + "x");
    ASSERT_EQ(step.kind, Utf8::character) << static_cast<unsigned>(value);
    ASSERT_EQ(step.value, value);
    ASSERT_EQ(step.bytes, text.size());
    for (std::size_t part = 1; part < text.size(); ++part)
      ASSERT_EQ(utf8_step(text.substr(0, part)).kind, Utf8::incomplete);
  }
}

TEST(Utf8, MalformedBytesAreFound) {
  EXPECT_EQ(find_invalid_utf8("gr\xc3\xbc\xc3\x9f"), std::string_view::npos);
  EXPECT_EQ(find_invalid_utf8("ab\xff"), 2u);
  EXPECT_EQ(find_invalid_utf8("ab\xc3"), 2u);            // ends inside a character
  EXPECT_EQ(find_invalid_utf8("\xc0\xaf"), 0u);          // overlong
  EXPECT_EQ(find_invalid_utf8("a\xe0\x9f\xbf"), 1u);     // overlong
  EXPECT_EQ(find_invalid_utf8("\xed\xa0\x80"), 0u);      // surrogate
  EXPECT_EQ(find_invalid_utf8("\xf4\x90\x80\x80"), 0u);  // above U+10FFFF
  EXPECT_EQ(find_invalid_utf8("\x80"), 0u);              // continuation without a lead
}

std::string stream_in_parts(const std::string& bytes, std::mt19937* random) {
  Utf8Stream stream;
  std::string text;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t size = random == nullptr ? bytes.size() : 1 + (*random)() % 3;
    text += stream.push(std::string_view(bytes).substr(at, size));
    EXPECT_EQ(find_invalid_utf8(text), std::string_view::npos);
    at += size;
  }
  return text + stream.finish();
}

// What Python's bytes.decode("utf-8", "replace") makes of the same bytes.
TEST(Utf8Stream, BrokenBytesBecomeReplacementCharacters) {
  const std::string r = "\xef\xbf\xbd";
  const struct {
    std::string bytes, text;
  } cases[] = {
      {"a\xff"
       "b",
       "a" + r + "b"},
      {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
      {"\xf0\x9f\x98", r},
      {"\xf0\x9f\x98"
       "a",
       r + "a"},
      {"\xe2\x82\xe2\x82\xac", r + "\xe2\x82\xac"},
      {"\xed\xa0\x80", r + r + r},
      {"\xc0\xaf\xe0\x80\xbf", r + r + r + r + r},
      {"\xf4\x90\x80\x80", r + r + r + r},
      {"\x80\x80", r + r},
  };
  std::mt19937 random(3);
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(stream_in_parts(bytes, nullptr), text);
    for (int round = 0; round < 5; ++round) EXPECT_EQ(stream_in_parts(bytes, &random), text);
  }
}

TEST(Utf8Stream, HowBytesAreCutChangesNothing) {
  std::mt19937 random(5);
  const unsigned char awkward[] = {'a', 0x80, 0xbf, 0xc2, 0xe0, 0xa0, 0xed, 0x9f, 0xf0, 0x90, 0xf4, 0x8f, 0xff};
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (auto left = random() % 20; left > 0; --left) bytes += static_cast<char>(awkward[random() % sizeof awkward]);
    ASSERT_EQ(stream_in_parts(bytes, &random), stream_in_parts(bytes, nullptr));
  }
}

TEST(Utf8Stream, ShowsEverythingThatIsCertain) {
  Utf8Stream stream;
  EXPECT_EQ(stream.push("ab\xc3"), "ab");
  EXPECT_EQ(stream.push("\xa9"
                        "c"),
            "\xc3\xa9"
            "c");
  EXPECT_EQ(stream.push("\xf0\x9f"), "");
  EXPECT_EQ(stream.push("x"), "\xef\xbf\xbdx");
  EXPECT_EQ(stream.push("\xe2\x82"), "");
  EXPECT_EQ(stream.finish(), "\xef\xbf\xbd");
  EXPECT_EQ(stream.finish(), "");
}

}  // namespace
}  // namespace sluice
