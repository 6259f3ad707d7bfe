// Tests of vocabulary.h.
#include "text/vocabulary.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace sluice {
namespace {

TEST(Vocabulary, EqualsAMapOnRandomStrings) {
  std::mt19937 random(7);
  Vocabulary vocabulary;
  std::map<std::string, int> expected;
  for (int step = 0; step < 20000; ++step) {
    std::string text;
    for (auto left = 1 + random() % 4; left > 0; --left) text += static_cast<char>(random() % 12);
    const auto [entry, is_new] = expected.try_emplace(text, static_cast<int>(expected.size()));
    EXPECT_EQ(vocabulary.find(text), is_new ? -1 : entry->second);
    EXPECT_EQ(vocabulary.add(text), is_new);
    EXPECT_EQ(vocabulary.find(text), entry->second);
  }
  vocabulary.shrink();
  ASSERT_EQ(vocabulary.size(), static_cast<int>(expected.size()));
  for (const auto& [text, number] : expected) {
    EXPECT_EQ(vocabulary.find(text), number);
    EXPECT_EQ(vocabulary.bytes(number), text);
  }
  EXPECT_EQ(vocabulary.longest(), 4u);
}

TEST(Vocabulary, EmptyAndLongerTextsAreNotThere) {
  Vocabulary vocabulary;
  EXPECT_EQ(vocabulary.find("a"), -1);
  EXPECT_FALSE(vocabulary.add(""));
  EXPECT_TRUE(vocabulary.add(std::string_view("a\0b", 3)));
  EXPECT_EQ(vocabulary.find(std::string_view("a\0b", 3)), 0);
  EXPECT_EQ(vocabulary.find("a"), -1);
  EXPECT_EQ(vocabulary.find("abcd"), -1);
  EXPECT_EQ(vocabulary.find(""), -1);
}

TEST(Vocabulary, AReleasedVocabularyTakesLittleMemory) {
  Vocabulary vocabulary;
  for (int number = 0; number < 163584; ++number) vocabulary.add("ab" + std::to_string(number));
  vocabulary.shrink();
  EXPECT_EQ(vocabulary.size(), 163584);
  EXPECT_LT(vocabulary.resident_bytes(), 3u << 20);
}

}  // namespace
}  // namespace sluice
