// Tests of Kimi K3's tokenizer against pieces and encodings of the release.
#include "models/kimi_k3/tokenizer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "support/decoded.h"
#include "support/kimi_k3_tokens.h"
#include "support/must.h"
#include "support/temp_dir.h"
#include "support/tiktoken_model.h"
#include "text/split_pattern.h"
#include "text/utf8.h"

namespace sluice::kimi_k3 {
namespace {

using Ids = std::vector<int>;
using test::decoded, test::kimi_k3_tokenizer, test::released_kimi_k3_tokenizer;

// Single bytes and a few words.
const Tokenizer& tiny() {
  static const std::unique_ptr<Tokenizer> tokenizer = [] {
    std::vector<std::string> entries = test::single_bytes();
    for (const char* entry : {"  ", "word", " word", "QU", "QUJ", "QUJD", "QUJDR", "QUJDRA", "aa", "aaaa", "\xe4\xbd"})
      entries.emplace_back(entry);
    return kimi_k3_tokenizer(entries);
  }();
  return *tokenizer;
}

Ids text_ids(const Tokenizer& tokenizer, std::string_view text) {
  return test::must(tokenizer.encode(text, SpecialSpelling::text));
}
Ids token_ids(const Tokenizer& tokenizer, std::string_view text) {
  return test::must(tokenizer.encode(text, SpecialSpelling::token));
}

std::vector<std::string> pieces_of(const SplitPattern& pattern, const std::string& text) {
  std::vector<std::string> pieces;
  test::must(pattern.split(text, [&](std::string_view piece) { pieces.emplace_back(piece); }));
  return pieces;
}

std::string random_text(std::mt19937& random, std::size_t characters) {
  static const std::u32string awkward =
      U"aZ9 \n\r\t'sSTdD.,-_<|>\u00e9\u00c9\u00df\u017f\u01c5\u02b0\u0301\u0660\u00bd\u2163\u3007\u3005\u30fc\u4e2d"
      U"\u6587\u30ab\u3042\ud55c\u0e44\u0939\u093f\u0627\u00a0\u3000\u2003\u0085\u2028\u180e\u200b\u200d\ufffd"
      U"\U0001d400"
      U"\U0001f44b\U0001f3fd\U00020000\U000e0100\0";
  std::string text;
  for (std::size_t count = 0; count < characters; ++count) {
    char32_t value = awkward[random() % awkward.size()];
    if (random() % 8 == 0) value = static_cast<char32_t>(random() % 0x110000);
    if (value >= 0xd800 && value <= 0xdfff) value = U'x';
    for (auto again = 1 + random() % 3; again > 0; --again) append_utf8(value, text);
  }
  return text;
}

TEST(KimiK3Pattern, PiecesOfTheReleasedPattern) {
  std::ifstream file(SLUICE_SOURCE_DIR "/tests/golden/text/split_goldens.json");
  const auto golden = nlohmann::json::parse(file);
  const SplitPattern pattern = test::must(SplitPattern::compile(split_pattern()));
  ASSERT_EQ(golden.at("cases").size(), 55u);
  for (const auto& item : golden.at("cases"))
    EXPECT_EQ(pieces_of(pattern, item.at("text")), item.at("kimi_k3").get<std::vector<std::string>>()) << item;
}

// The other way to write the intersections in PCRE2: a look-ahead before every letter.
TEST(KimiK3Pattern, EqualsTheFormWithLookAhead) {
  const std::string not_lower = R"re((?:(?!\p{sc:Han})[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]))re";
  const std::string not_upper = R"re((?:(?!\p{sc:Han})[\p{Ll}\p{Lm}\p{Lo}\p{M}]))re";
  const std::string with_look_ahead =
      R"([\p{sc:Han}]+|[^\r\n\p{L}\p{N}]?)" + not_lower + "*" + not_upper +
      R"re(+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?)re" + not_lower + "+" + not_upper +
      R"re(*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\p{White_Space}\p{L}\p{N}]+[\r\n]*)re" +
      R"re(|\p{White_Space}*[\r\n]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+)re";
  const SplitPattern pattern = test::must(SplitPattern::compile(split_pattern()));
  const SplitPattern other = test::must(SplitPattern::compile(with_look_ahead));
  std::mt19937 random(29);
  for (int round = 0; round < 3000; ++round) {
    const std::string text = random_text(random, 1 + random() % 30);
    ASSERT_EQ(pieces_of(pattern, text), pieces_of(other, text)) << text;
  }
}

TEST(KimiK3Tokenizer, EncodingsOfTheRelease) {
  const struct {
    std::string text;
    Ids ids;
  } cases[] = {
      {"The capital of France is", {1008, 10484, 318, 15383, 387}},
      {"The quick brown fox jumps over the lazy dog.", {1008, 5072, 16331, 69275, 60062, 1312, 276, 29292, 7751, 13}},
      {"It's Bob's; they're here, we'll see, I'd go, you've won, don't.",
       {15881, 23396, 1048, 26, 19564, 2397, 11, 20944, 2050, 11, 20020, 970, 11, 19587, 3661, 11, 4536, 13}},
      {"你好，世界！我是 Kimi K3。", {33845, 378, 2243, 856, 7808, 24980, 72, 1040, 18, 292}},
      {"Kimi K3 是 Moonshot AI 的模型 (moonshot).",
       {42, 30223, 1040, 18, 220, 330, 30218, 10065, 22572, 220, 269, 15662, 347, 115443, 10065, 1083}},
      {"def f(x: int) -> int:\n    if x > 10:\n        return x**2\n    return -x\n",
       {1166, 285, 3940, 25,  754,  8,   2949, 754, 777, 274, 581, 1288, 1677, 220,
        795,  777, 337,  745, 1288, 381, 17,   198, 274, 745, 635, 87,   198}},
      {"0 7 42 1234 999999 3.14159 1e-9",
       {15, 220, 22, 220, 5512, 220, 6694, 19, 220, 11275, 11275, 220, 18, 13, 18702, 6276, 220, 16, 68, 12, 24}},
      {"a  b\t\tc\n\n\nd \n  e   ", {64, 220, 291, 197, 2529, 3898, 67, 1420, 220, 350, 274}},
      {"hello 👋🏽 world 🇯🇵 🧑\u200d💻 done",
       {22931, 130732, 233, 92949, 121, 2695, 67496, 107, 32166, 113, 17137, 100, 239, 67963, 66122, 119, 4179}},
      {std::string("a\0b\1c\x7f"
                   "d",
                   7),
       {64, 188, 65, 189, 66, 221, 67}},
      {"literal <|open|> and <|end_of_msg|> and [BOS] here",
       {82319, 22652, 4454, 91, 29, 316, 22652, 517, 5118, 14222, 91, 29, 316, 793, 33, 4110, 60, 2397}},
      {"# Title\n\n- item one\n- item two\n\n```python\nprint(\"hi\")\n```\n",
       {2, 26293, 382, 12, 2993, 1101, 198, 12, 2993, 2069, 382, 3251, 12644, 198, 2676, 758, 9663, 2690, 11512}},
      {"a & b \"quoted\" <tag> &amp; &quot;",
       {64, 841, 291, 414, 79530, 1, 555, 11782, 29, 841, 2139, 26, 841, 13847, 26}},
      {R"({"a":1,"b":[1,2,3],"c":{"d":null,"e":true}})",
       {8264,  64, 1289,  16, 2020, 65,   33991, 16, 11,   17,   11,  18,
        24410, 66, 22849, 67, 1289, 6562, 2020,  68, 1289, 4130, 5375}},
      {"=low", {28, 1332}},
      {"=high", {28, 19421}},
      {" ", {220}},
      {"\n", {198}},
      {"", {}},
  };
  for (const auto& [text, ids] : cases) {
    EXPECT_EQ(text_ids(released_kimi_k3_tokenizer(), text), ids) << text;
    EXPECT_EQ(decoded(released_kimi_k3_tokenizer(), ids), text);
  }
  EXPECT_EQ(token_ids(released_kimi_k3_tokenizer(), "literal <|open|> and <|end_of_msg|> and [BOS] here"),
            (Ids{82319, 220, 163587, 316, 220, 163586, 316, 220, 163584, 2397}));
}

// Ids that the Python package tiktoken gives with the vocabulary of a tiny checkpoint (tools/oracle).
TEST(KimiK3Tokenizer, GoldensOfTiktoken) {
  const std::string folder = SLUICE_SOURCE_DIR "/tests/golden/kimi_k3/";
  const auto golden = nlohmann::json::parse(std::ifstream(folder + "tokenizer_goldens.json"));
  const auto tokenizer = test::must(open_tokenizer(folder + "a", 768));
  const SplitPattern pattern = test::must(SplitPattern::compile(split_pattern()));
  ASSERT_GE(golden.at("cases").size(), 100u);
  for (const auto& item : golden.at("cases")) {
    const std::string text = item.at("text");
    const Ids ids = item.at("ids");
    EXPECT_EQ(pieces_of(pattern, text), item.at("pieces").get<std::vector<std::string>>());
    EXPECT_EQ(text_ids(*tokenizer, text), ids) << text;
    EXPECT_EQ(token_ids(*tokenizer, text), item.value("special_ids", ids)) << text;
    EXPECT_EQ(decoded(*tokenizer, ids), text);
  }
  ASSERT_GE(golden.at("long").size(), 20u);
  for (const auto& item : golden.at("long")) {
    std::string text;
    for (const auto& [part, times] : item.at("repeat").get<std::vector<std::pair<std::string, int>>>())
      for (int count = 0; count < times; ++count) text += part;
    const Ids ids = text_ids(*tokenizer, text);
    EXPECT_EQ(ids.size(), item.at("count").get<std::size_t>()) << item;
    std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a over the ids as little-endian words
    for (const int id : ids)
      for (int shift = 0; shift < 32; shift += 8)
        hash = (hash ^ (static_cast<unsigned>(id) >> shift & 0xffu)) * 0x100000001b3u;
    EXPECT_EQ(fmt::format("{:016x}", hash), item.at("fnv1a64_of_u32le_ids").get<std::string>()) << item;
  }
}

TEST(KimiK3Tokenizer, SpecialTokensFollowTheRanks) {
  EXPECT_EQ(released_kimi_k3_tokenizer().vocab_size(), 163840);
  const std::pair<const char*, int> known[] = {{"[BOS]", 163584},
                                               {"[EOS]", 163585},
                                               {"<|end_of_msg|>", 163586},
                                               {"<|open|>", 163587},
                                               {"<|close|>", 163588},
                                               {"<|sep|>", 163589},
                                               {"[start_header_id]", 163590},
                                               {"[end_header_id]", 163591},
                                               {"[EOT]", 163593},
                                               {"<|media_begin|>", 163602},
                                               {"<|media_content|>", 163603},
                                               {"<|media_end|>", 163604},
                                               {"<|media_pad|>", 163605},
                                               {"<osagent_mode>", 163649},
                                               {"[UNK]", 163838},
                                               {"[PAD]", 163839}};
  for (const auto& [spelling, id] : known) {
    EXPECT_EQ(released_kimi_k3_tokenizer().special_id(spelling), id);
    EXPECT_EQ(released_kimi_k3_tokenizer().bytes(id), spelling);
    EXPECT_TRUE(released_kimi_k3_tokenizer().is_special(id));
    EXPECT_EQ(tiny().special_id(spelling), id - 163584 + 267);
  }
  EXPECT_EQ(released_kimi_k3_tokenizer().bytes(163592), "<|reserved_token_163592|>");
  EXPECT_EQ(tiny().bytes(275), "<|reserved_token_275|>");
  EXPECT_FALSE(released_kimi_k3_tokenizer().is_special(163583));
}

TEST(KimiK3Tokenizer, SpecialSpellingsGluedToAnything) {
  const std::string neighbours[] = {"",   "a", "word", ".", " ", "  ", "\n", "\r\n",
                                    "\t", "7", "你",   "👋", "<", "|",  "<|", "["};
  for (int id = tiny().vocab_size() - 256; id < tiny().vocab_size(); ++id) {
    const std::string spelling(tiny().bytes(id));
    for (const std::string& before : neighbours)
      for (const std::string& behind : {neighbours[id % 16], neighbours[(id + 5) % 16]}) {
        const std::string text = before + spelling + behind;
        Ids expected = text_ids(tiny(), before);
        expected.push_back(id);
        for (const int next : text_ids(tiny(), behind)) expected.push_back(next);
        ASSERT_EQ(token_ids(tiny(), text), expected) << text;
        const Ids plain = text_ids(tiny(), text);
        for (const int next : plain) ASSERT_FALSE(tiny().is_special(next)) << text;
        ASSERT_EQ(decoded(tiny(), plain), text);
      }
  }
}

TEST(KimiK3Tokenizer, LongTextIsCutAsInTheRelease) {
  const auto repeated = [](const std::string& text, int times) {
    std::string all;
    for (int count = 0; count < times; ++count) all += text;
    return all;
  };
  // The counts of the release, whose vocabulary has both forms of the word too.
  EXPECT_EQ(text_ids(tiny(), repeated("word ", 6'000)).size(), 6'001u);
  EXPECT_EQ(text_ids(tiny(), repeated("word ", 100'000)).size(), 100'002u);
  // 25,000 letters end in QUJD; 5,000 begin with R, A.
  EXPECT_EQ(text_ids(tiny(), repeated("QUJDRA", 5'000)).size(), 25'000u / 6 + 1 + 2 + 4'998 / 6);
  // 25,000 blanks by twos; then 4,999 by twos, and the last one goes to the word.
  EXPECT_EQ(text_ids(tiny(), repeated(" ", 30'000) + "end").size(), 12'500u + 2'500 + 4);
}

TEST(KimiK3Tokenizer, DecodingGivesTheTextBack) {
  std::mt19937 random(31);
  for (int round = 0; round < 1000; ++round) {
    const std::string text = random_text(random, random() % 60);
    for (const auto spelling : {SpecialSpelling::text, SpecialSpelling::token}) {
      const Ids ids = test::must(tiny().encode(text, spelling));
      for (const int id : ids) ASSERT_TRUE(id >= 0 && id < tiny().vocab_size());
      ASSERT_EQ(decoded(tiny(), ids), text);
    }
  }
}

TEST(KimiK3Tokenizer, MegabytesTakeSeconds) {
  std::mt19937 random(37);
  const std::string texts[] = {std::string(1'000'000, 'a'), std::string(1'000'000, 'A'), std::string(1'000'000, ' '),
                               std::string(1'000'000, '\n'), random_text(random, 100'000)};
  const auto begin = std::chrono::steady_clock::now();
  for (const std::string& text : texts) EXPECT_EQ(decoded(tiny(), text_ids(tiny(), text)), text);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took.count(), 20.0);  // below 1 s here; a quadratic step would need minutes
}

TEST(KimiK3Tokenizer, TheReleasedVocabularyTakesAFewMegabytes) {
  EXPECT_LT(released_kimi_k3_tokenizer().resident_bytes(), 4u << 20);
  EXPECT_GT(released_kimi_k3_tokenizer().resident_bytes(), 1u << 20);
}

TEST(KimiK3Tokenizer, AMissingFileIsNamed) {
  const test::TempDir directory;
  const auto opened = open_tokenizer(directory.path(), 163840);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::bad_input);
  EXPECT_NE(opened.error().what.find("tiktoken.model"), std::string::npos);
}

}  // namespace
}  // namespace sluice::kimi_k3
