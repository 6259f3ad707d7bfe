// Tests of bpe.h.
#include "text/bpe.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>

namespace sluice {
namespace {

Vocabulary bytes_and(const std::vector<std::string>& entries) {
  Vocabulary ranks;
  for (int byte = 0; byte < 256; ++byte) ranks.add(std::string(1, static_cast<char>(byte)));
  for (const std::string& entry : entries) ranks.add(entry);
  return ranks;
}

std::vector<int> encode(const Vocabulary& ranks, std::string_view piece) {
  std::vector<int> ids;
  const RankRules rules(ranks);
  Bpe(rules).encode(piece, ids);
  return ids;
}

// The definition, word by word: lowest rank first, leftmost on ties, until nothing can be joined.
std::vector<int> encode_slowly(const Vocabulary& ranks, const std::string& piece) {
  if (const int whole = ranks.find(piece); whole >= 0) return {whole};
  std::vector<std::string> parts;
  for (const char byte : piece) parts.emplace_back(1, byte);
  for (;;) {
    int lowest = -1;
    std::size_t at = 0;
    for (std::size_t left = 0; left + 1 < parts.size(); ++left) {
      const int rank = ranks.find(parts[left] + parts[left + 1]);
      if (rank >= 0 && (lowest < 0 || rank < lowest)) lowest = rank, at = left;
    }
    if (lowest < 0) break;
    parts[at] += parts[at + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  std::vector<int> ids;
  for (const std::string& part : parts) ids.push_back(ranks.find(part));
  return ids;
}

TEST(Bpe, EqualsTheDefinitionOnRandomVocabularies) {
  std::mt19937 random(11);
  const auto letters = [&](std::size_t least, std::size_t span) {
    std::string text;
    for (auto left = least + random() % span; left > 0; --left) text += static_cast<char>('a' + random() % 3);
    return text;
  };
  for (int vocabulary = 0; vocabulary < 200; ++vocabulary) {
    std::vector<std::string> entries;
    for (int entry = 0; entry < 40; ++entry) entries.push_back(letters(2, 4));
    const Vocabulary ranks = bytes_and(entries);
    const RankRules rules(ranks);
    Bpe bpe(rules);
    for (int text = 0; text < 20; ++text) {
      const std::string piece = letters(1, 60);
      std::vector<int> ids;
      bpe.encode(piece, ids);
      ASSERT_EQ(ids, encode_slowly(ranks, piece)) << piece;
    }
  }
}

TEST(Bpe, WholePieceComesBeforeMerging) {
  // "abc" cannot be reached by joining: "ab" + "c" would do, but "bc" has the lower rank.
  const Vocabulary ranks = bytes_and({"bc", "ab", "abc"});
  EXPECT_EQ(encode(ranks, "abc"), std::vector<int>{258});
  EXPECT_EQ(encode(ranks, "abcd"), (std::vector<int>{258, 'd'}));
  EXPECT_EQ(encode(ranks, "xab"), (std::vector<int>{'x', 257}));
  EXPECT_TRUE(encode(ranks, "").empty());
}

TEST(Bpe, LeftmostOfEqualPairsIsJoinedFirst) {
  const Vocabulary ranks = bytes_and({"aa"});
  EXPECT_EQ(encode(ranks, "aaaaa"), (std::vector<int>{256, 256, 'a'}));
}

TEST(Bpe, AMillionEqualLettersTakeNoTime) {
  const Vocabulary ranks = bytes_and({"aa", "aaaa", "aaaaaaaa"});
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<int> ids = encode(ranks, std::string(1'000'003, 'a'));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  ASSERT_EQ(ids.size(), 125'002u);
  EXPECT_EQ(ids.front(), 258);
  EXPECT_EQ(ids[125'000], 256);
  EXPECT_EQ(ids.back(), 'a');
  EXPECT_LT(took.count(), 60.0);  // a quadratic loop needs many minutes; a sanitizer on a busy machine a dozen seconds
}

}  // namespace
}  // namespace sluice
