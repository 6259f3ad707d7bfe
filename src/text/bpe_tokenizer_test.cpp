// Tests of bpe_tokenizer.h with a small vocabulary and a simple pattern.
#include "text/bpe_tokenizer.h"
#include "support/decoded.h"

#include <gtest/gtest.h>

#include "support/must.h"
#include "support/tiktoken_model.h"

namespace sluice {
namespace {

using test::decoded;

BpeTokenizer small_tokenizer(LongTextRule rule = {}) {
  Vocabulary ranks, specials;
  for (const std::string& entry : test::single_bytes()) ranks.add(entry);
  for (const char* entry : {"ab", "aa"}) ranks.add(entry);
  for (const char* special : {"<x>", "<xy>", "[E]", "<x"}) specials.add(special);
  return {std::move(ranks), std::move(specials),
          test::must(SplitPattern::compile(R"(\p{L}+|\s+(?!\S)|\s+|[^\s\p{L}]+)")), rule};
}

TEST(BpeTokenizer, SpecialSpellingsAreTextUnlessTheyAreToBeTokens) {
  const BpeTokenizer tokenizer = small_tokenizer();
  EXPECT_EQ(tokenizer.vocab_size(), 262);
  EXPECT_EQ(tokenizer.special_id("<xy>"), 259);
  EXPECT_EQ(tokenizer.special_id("ab"), -1);
  for (const char* text : {"ab<x>ab", "<x>", "a<xy>[E]", "<x><x><x>", "<x <x>", "x>[E", "<<x>>"}) {
    const std::vector<int> plain = test::must(tokenizer.encode(text, SpecialSpelling::text));
    for (const int id : plain) EXPECT_FALSE(tokenizer.is_special(id)) << text;
    EXPECT_EQ(decoded(tokenizer, plain), text);
    EXPECT_EQ(decoded(tokenizer, test::must(tokenizer.encode(text, SpecialSpelling::token))), text);
  }
  const auto special = [&](const char* text) { return test::must(tokenizer.encode(text, SpecialSpelling::token)); };
  EXPECT_EQ(special("ab<x>ab"), (std::vector<int>{256, 258, 256}));
  EXPECT_EQ(special("<xy>[E]"), (std::vector<int>{259, 260}));  // the longer of two spellings
  EXPECT_EQ(special("<x>a"), (std::vector<int>{258, 64}));
  EXPECT_EQ(special("<xa"), (std::vector<int>{261, 64}));
  EXPECT_EQ(special("<<x>>"), (std::vector<int>{27, 258, 29}));
}

TEST(BpeTokenizer, TextBesideASpecialTokenIsSplitByItself) {
  const BpeTokenizer tokenizer = small_tokenizer();
  // The pattern's look-ahead gives the last blank before a word to the word; a special token is no word.
  EXPECT_EQ(test::must(tokenizer.encode("  <x>", SpecialSpelling::token)), (std::vector<int>{220, 220, 258}));
  // Letters are not joined over a special token.
  EXPECT_EQ(test::must(tokenizer.encode("a[E]b", SpecialSpelling::token)), (std::vector<int>{64, 260, 65}));
}

TEST(BpeTokenizer, LongTextIsCutBeforeSpecialSpellingsAreSought) {
  const BpeTokenizer tokenizer = small_tokenizer({.slice = 4, .run = 100});
  EXPECT_EQ(test::must(tokenizer.encode("a<x>", SpecialSpelling::token)), (std::vector<int>{64, 258}));
  EXPECT_EQ(test::must(tokenizer.encode("aa<x>", SpecialSpelling::token)), (std::vector<int>{257, 261, 29}));
}

TEST(BpeTokenizer, TextThatIsNotUtf8IsRefused) {
  const BpeTokenizer tokenizer = small_tokenizer();
  for (const char* text : {"ab\xff", "ab\xc3", "ab\xed\xa0\x80"}) {
    const auto ids = tokenizer.encode(text, SpecialSpelling::text);
    ASSERT_FALSE(ids);
    EXPECT_EQ(ids.error().kind, ErrorKind::bad_input);
    EXPECT_NE(ids.error().what.find("byte 2"), std::string::npos);
  }
}

TEST(BpeTokenizer, SaysWhatItHolds) {
  const BpeTokenizer tokenizer = small_tokenizer();
  EXPECT_GT(tokenizer.resident_bytes(), 258u * 8);
  EXPECT_LT(tokenizer.resident_bytes(), 200'000u);
}

}  // namespace
}  // namespace sluice
