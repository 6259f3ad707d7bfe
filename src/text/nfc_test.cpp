// Tests of nfc.h against forms of the Unicode standard.
#include "text/nfc.h"

#include <gtest/gtest.h>

#include <chrono>

#include "support/must.h"

namespace sluice {
namespace {

TEST(Nfc, FormsOfTheStandard) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"abc", "abc"},
      {"e\u0301", "\u00e9"},
      {"\u212b\u2126", "\u00c5\u03a9"},  // singletons: angstrom, ohm
      {"\u1100\u1161\u11a8", "\uac01"},  // Hangul
      {"\uac00\u11a8", "\uac01"},
      {"a\u0301\u0316", "\u00e1\u0316"},   // a mark below does not block
      {"a\u0316\u0301", "\u00e1\u0316"},   // marks are ordered first
      {"q\u0301\u0316", "q\u0316\u0301"},  // and where nothing composes
      {"a\u0305\u0301", "a\u0305\u0301"},  // one of the same class does
      {"\u0958", "\u0915\u093c"},          // excluded from composition
      {"\ufb01\u00bd", "\ufb01\u00bd"},    // compatibility forms stay
      {"\u1e9b\u0323", "\u1e9b\u0323"},
      {"\u0344", "\u0308\u0301"},
      {"\u4f60\U0001f44b", "\u4f60\U0001f44b"},
      {"\uf900", "\u8c48"},
      {"\U0001d15e", "\U0001d157\U0001d165"},
  };
  for (const auto& [text, form] : cases) {
    EXPECT_EQ(test::must(to_nfc(text)), form) << text;
    EXPECT_EQ(test::must(to_nfc(form)), form);
    EXPECT_TRUE(!is_plainly_nfc(text) || std::string(text) == form) << text;
  }
  EXPECT_TRUE(is_plainly_nfc("plain \u00e9\u02ff"));
  EXPECT_FALSE(is_plainly_nfc("e\u0301"));
}

TEST(Nfc, AMegabyteOfMarksTakesNoTime) {
  std::string marks;
  for (int count = 0; count < 300'000; ++count) marks += "\u0301\u0316";
  const auto begin = std::chrono::steady_clock::now();
  const std::string form = test::must(to_nfc("a" + marks));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_TRUE(form.starts_with("\u00e1\u0316\u0316"));
  EXPECT_LT(took.count(), 10.0);  // below 0.2 s here; swapping neighbours takes minutes
}

}  // namespace
}  // namespace sluice
