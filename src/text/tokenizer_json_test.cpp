// Tests of tokenizer_json.h with small files. The families' goldens are tested beside their tokenizers.
#include "text/tokenizer_json.h"
#include "support/decoded.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <random>

#include "support/must.h"
#include "support/temp_dir.h"
#include "support/tokenizer_json.h"

namespace sluice {
namespace {

using Ids = std::vector<int>;
using test::decoded;
using Json = test::TokenizerJson::Json;

Result<std::unique_ptr<Tokenizer>> open(const Json& json, int vocab_size) {
  const test::TempDir directory;
  std::ofstream(directory / "tokenizer.json") << json;
  return open_tokenizer_json(directory / "tokenizer.json", vocab_size);
}
std::unique_ptr<Tokenizer> open(const test::TokenizerJson& file) {
  return test::must(open(file.json(), file.tokens()));
}

Ids text_ids(const Tokenizer& tokenizer, std::string_view text) {
  return test::must(tokenizer.encode(text, SpecialSpelling::text));
}
Ids token_ids(const Tokenizer& tokenizer, std::string_view text) {
  return test::must(tokenizer.encode(text, SpecialSpelling::token));
}
// Single bytes; "ab" 256, "bc" 257, "abc" 258 of ab and c; "xbc" 259 that no merge makes.
test::TokenizerJson small() {
  return {.merges = {{"a", "b"}, {"b", "c"}, {"ab", "c"}},
          .whole = {"xbc"},
          .added = {{"<s>", true}, {"<t>", false}, {"<tt>", false}, {"  ", false}, {"   ", false}}};
}

TEST(TokenizerJson, MergesByRankNotByWhatIsAToken) {
  for (const bool as_pairs : {false, true}) {
    test::TokenizerJson file = small();
    file.merges_as_pairs = as_pairs;
    const auto tokenizer = open(file);
    EXPECT_EQ(text_ids(*tokenizer, "abc"), Ids{258});
    EXPECT_EQ(text_ids(*tokenizer, "bcab"), (Ids{257, 256}));
    EXPECT_EQ(text_ids(*tokenizer, "xbc"), (Ids{87, 257}));  // a token, but merges do not lead there
    file.ignore_merges = true;
    EXPECT_EQ(text_ids(*open(file), "xbc"), Ids{259});
    EXPECT_EQ(text_ids(*open(file), "xbca"), (Ids{87, 257, 64}));
  }
  // Joined bytes that are a token are not enough: here only x and bc together make one.
  test::TokenizerJson other = {.merges = {{"x", "b"}, {"b", "c"}, {"x", "bc"}}};
  EXPECT_EQ(text_ids(*open(other), "xbc"), (Ids{256, 66}));
}

TEST(TokenizerJson, AddedTokensComeBeforeTheSplit) {
  const auto tokenizer = open(small());
  const int s = 260, t = 261, tt = 262, two = 263, three = 264;
  EXPECT_EQ(tokenizer->special_id("<s>"), s);
  EXPECT_EQ(tokenizer->special_id("  "), -1);  // blanks are text
  EXPECT_EQ(token_ids(*tokenizer, "ab<s>bc<t><tt>"), (Ids{256, s, 257, t, tt}));
  EXPECT_EQ(token_ids(*tokenizer, "a<s"), (Ids{64, 27, 82}));
  EXPECT_EQ(token_ids(*tokenizer, "a     b"), (Ids{64, three, two, 65}));  // the longest first
  // As text, the spelling of a control token is text whether the file calls it special or not; blanks are as before.
  for (const char* text : {"<s>", "<t>", "ab<tt>c", "<<s>>   x"}) {
    const Ids ids = text_ids(*tokenizer, text);
    for (const int id : ids) EXPECT_FALSE(tokenizer->is_special(id)) << text;
    EXPECT_EQ(decoded(*tokenizer, ids), text);
    EXPECT_EQ(decoded(*tokenizer, token_ids(*tokenizer, text)), text);
  }
  EXPECT_EQ(text_ids(*tokenizer, "a   b"), (Ids{64, three, 65}));
  EXPECT_TRUE(tokenizer->is_special(t));
  EXPECT_TRUE(tokenizer->is_shown(t));
  EXPECT_FALSE(tokenizer->is_shown(s));
  EXPECT_FALSE(tokenizer->is_special(two));
}

TEST(TokenizerJson, TheNormalFormComesBetweenTheTwoKindsOfAddedTokens) {
  test::TokenizerJson file = {.added = {{"e\u0301", true}, {"o\u0301", false}}, .nfc = true, .added_normalized = true};
  const auto tokenizer = open(file);
  const int raw = 256, normal = 257;
  EXPECT_EQ(token_ids(*tokenizer, "e\u0301"), Ids{raw});  // found in the raw text
  EXPECT_EQ(token_ids(*tokenizer, "\u00e9").size(), 2u);  // not its normal form
  EXPECT_EQ(token_ids(*tokenizer, "\u00f3o\u0301"), (Ids{normal, normal}));
  EXPECT_EQ(text_ids(*tokenizer, "a\u0301"), text_ids(*tokenizer, "\u00e1"));
  file.nfc = false;
  EXPECT_NE(text_ids(*open(file), "a\u0301"), text_ids(*open(file), "\u00e1"));
}

TEST(TokenizerJson, StepsSeeOnlyTheirPiece) {
  test::TokenizerJson file = {.merges = {{" ", " "}, {"1", "1"}}, .splits = test::kDeepSeekSplits};
  const auto tokenizer = open(file);
  // The third pattern sees the two blanks alone, so its look-ahead keeps them together.
  EXPECT_EQ(text_ids(*tokenizer, "  11"), (Ids{256, 257}));
  EXPECT_EQ(text_ids(*tokenizer, "  a"), (Ids{220, 220, 64}));
}

TEST(TokenizerJson, RowsWithoutATokenAreSilent) {
  const auto tokenizer = test::must(open(small().json(), small().tokens() + 7));
  EXPECT_EQ(tokenizer->vocab_size(), small().tokens() + 7);
  const int padding = small().tokens();
  EXPECT_EQ(tokenizer->bytes(padding), "");
  EXPECT_TRUE(tokenizer->is_special(padding));
  EXPECT_FALSE(tokenizer->is_shown(padding));
}

TEST(TokenizerJson, TextNeverMergesToAControlToken) {
  test::TokenizerJson file = {.merges = {{"a", "b"}, {"b", "c"}}, .ignore_merges = true};
  Json json = file.json();
  json["added_tokens"].push_back({{"id", 256}, {"content", "ab"}, {"special", true}});
  const auto tokenizer = test::must(open(json, 258));
  EXPECT_EQ(text_ids(*tokenizer, "ab"), (Ids{64, 65}));
  EXPECT_EQ(text_ids(*tokenizer, "abc"), (Ids{64, 257}));
  EXPECT_EQ(token_ids(*tokenizer, "abc"), (Ids{256, 66}));
}

TEST(TokenizerJson, WhatIsUnknownOrDamagedIsRefusedByName) {
  using Change = std::function<void(Json&)>;
  const auto set = [](const char* pointer, const Json& value) {
    return Change([pointer, value](Json& json) { json[Json::json_pointer(pointer)] = value; });
  };
  const struct {
    Change change;
    ErrorKind kind;
    const char* complaint;
  } cases[] = {
      {set("/normalizer", {{"type", "NFKC"}}), ErrorKind::unsupported, "normalizer: NFKC"},
      {set("/normalizer", {{"type", "Sequence"}, {"normalizers", {{{"type", "Lowercase"}}}}}), ErrorKind::unsupported,
       "normalizer: Lowercase"},
      {set("/pre_tokenizer/type", "Metaspace"), ErrorKind::unsupported, "pre_tokenizer: Metaspace"},
      {set("/pre_tokenizer", nullptr), ErrorKind::unsupported, "no ByteLevel"},
      {set("/pre_tokenizer/add_prefix_space", true), ErrorKind::unsupported, "add_prefix_space"},
      {set("/pre_tokenizer", {{"type", "Split"}, {"pattern", {{"String", "a"}}}, {"behavior", "Isolated"}}),
       ErrorKind::unsupported, "something else than a Regex"},
      {set("/pre_tokenizer", {{"type", "Split"}, {"pattern", {{"Regex", "a"}}}, {"behavior", "Removed"}}),
       ErrorKind::unsupported, "behavior 'Removed'"},
      {set("/pre_tokenizer",
           {{"type", "Split"}, {"pattern", {{"Regex", "a"}}}, {"behavior", "Isolated"}, {"invert", true}}),
       ErrorKind::unsupported, "invert"},
      {set("/pre_tokenizer", {{"type", "Split"}, {"pattern", {{"Regex", "a.b"}}}, {"behavior", "Isolated"}}),
       ErrorKind::unsupported, "offset 1: '.'"},
      {set("/pre_tokenizer", {{"type", "Sequence"},
                              {"pretokenizers",
                               {{{"type", "Split"}, {"pattern", {{"Regex", "a*"}}}, {"behavior", "Isolated"}},
                                {{"type", "ByteLevel"}, {"add_prefix_space", false}}}}}),
       ErrorKind::unsupported, "matches where nothing is"},
      {set("/decoder/type", "Metaspace"), ErrorKind::unsupported, "decoder: Metaspace"},
      {set("/model/type", "WordPiece"), ErrorKind::unsupported, "WordPiece"},
      {set("/model/dropout", 0.1), ErrorKind::unsupported, "model.dropout"},
      {set("/model/end_of_word_suffix", "</w>"), ErrorKind::unsupported, "model.end_of_word_suffix"},
      {set("/model/byte_fallback", true), ErrorKind::unsupported, "byte_fallback"},
      {set("/added_tokens/0/lstrip", true), ErrorKind::unsupported, "'<s>' has lstrip"},
      {set("/added_tokens/0/single_word", true), ErrorKind::unsupported, "single_word"},
      {set("/model/vocab/\u4f60", 260), ErrorKind::bad_input, "id 260"},
      {[](Json& json) {
         json["added_tokens"].erase(4);
         json["model"]["vocab"]["\u4f60"] = 264;
       },
       ErrorKind::unsupported, "alphabet of bytes"},
      {set("/added_tokens/0/content", "a"), ErrorKind::bad_input, "'a' has id 64 in model.vocab and 260 in added"},
      {set("/added_tokens/1/id", 260), ErrorKind::bad_input, "id 260 is there twice"},
      {set("/added_tokens/4/id", 9999), ErrorKind::bad_input, "'   ' has id 9999, but config.json says vocab_size 265"},
      {set("/model/vocab/a", 65), ErrorKind::bad_input, "id 65 is there twice"},
      {[](Json& json) { json["model"]["vocab"].erase("xbc"); }, ErrorKind::bad_input, "no token has id 259"},
      {set("/model/merges/0", "a"), ErrorKind::bad_input, "entry 0"},
      {set("/model/merges/0", "a zz"), ErrorKind::bad_input, "entry 0 ('a' and 'zz')"},
      {set("/model/merges/1", "a b"), ErrorKind::bad_input, "entry 1 ('a' and 'b') is there twice"},
      {set("/model/merges/2", 7), ErrorKind::bad_input, "entry 2"},
      {[](Json& json) {
         json["model"]["vocab"]["a!!"] = json["model"]["vocab"]["\u0100"];
         json["model"]["vocab"].erase("\u0100");
       },
       ErrorKind::bad_input, "single byte 0x00"},
      {[](Json& json) { json["model"].erase("vocab"); }, ErrorKind::bad_input, "model.vocab"},
      {[](Json& json) { json["model"].erase("merges"); }, ErrorKind::bad_input, "model.merges"},
      {[](Json& json) { json = "text"; }, ErrorKind::bad_input, "no JSON object"},
  };
  for (const auto& [change, kind, complaint] : cases) {
    Json json = small().json();
    change(json);
    const auto opened = open(json, small().tokens());
    ASSERT_FALSE(opened) << complaint;
    EXPECT_EQ(opened.error().kind, kind) << opened.error().what;
    EXPECT_NE(opened.error().what.find(complaint), std::string::npos) << opened.error().what;
    EXPECT_NE(opened.error().what.find("tokenizer.json"), std::string::npos) << opened.error().what;
  }
  const auto shorter = open(small().json(), 5000);
  ASSERT_FALSE(shorter);
  EXPECT_NE(shorter.error().what.find("holds 265 tokens, but config.json says vocab_size 5000"), std::string::npos)
      << shorter.error().what;
  const auto missing = open_tokenizer_json("/nowhere/tokenizer.json", 10);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::bad_input);
}

// Ids that the package tokenizers gives with files of every family's kind (tools/oracle/byte_level_goldens.py).
TEST(TokenizerJson, GoldensOfThePackageTokenizers) {
  const std::string folder = SLUICE_SOURCE_DIR "/tests/golden/text/byte_level/";
  const auto golden = nlohmann::json::parse(std::ifstream(folder + "goldens.json"));
  ASSERT_EQ(golden.size(), 4u);
  for (const auto& [name, cases] : golden.items()) {
    const std::string file = folder + name + ".json";
    const auto stored = nlohmann::json::parse(std::ifstream(file));
    const auto size = stored["model"]["vocab"].size() + stored["added_tokens"].size();
    const auto tokenizer = test::must(open_tokenizer_json(file, static_cast<int>(size)));
    ASSERT_GE(cases.size(), 100u);
    for (const auto& item : cases) {
      const std::string text = item.at("text");
      const Ids ids = item.at("ids");
      EXPECT_EQ(token_ids(*tokenizer, text), ids) << name << ": " << text;
      EXPECT_EQ(text_ids(*tokenizer, text), item.value("text_ids", ids)) << name << ": " << text;
      EXPECT_TRUE(name == "nfc" || decoded(*tokenizer, ids) == text) << name << ": " << text;
    }
  }
}

// Whatever a file holds, it is read or refused; a tokenizer that was read gives text back.
TEST(TokenizerJson, AnyDamageIsReadOrRefused) {
  test::TokenizerJson file = small();
  file.splits = {test::kGlmSplit};
  const std::string whole = file.json().dump();
  const test::TempDir directory;
  std::mt19937 random(53);
  int read = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string text = whole;
    for (auto left = 1 + random() % 3; left > 0; --left) {
      const std::size_t at = random() % text.size();
      if (random() % 4 == 0)
        text.erase(at, 1 + random() % 20);
      else
        text[at] = "\",:{}[]0129ab \\u"[random() % 16];
    }
    std::ofstream(directory / "tokenizer.json", std::ios::trunc) << text;
    const auto opened = open_tokenizer_json(directory / "tokenizer.json", file.tokens());
    if (!opened) {
      EXPECT_NE(opened.error().kind, ErrorKind::bug) << opened.error().what;
      continue;
    }
    ++read;
    const std::string sample = "abc xbc  <s> 1\u4f60";
    const auto ids = (*opened)->encode(sample, SpecialSpelling::text);
    EXPECT_TRUE(!ids || decoded(**opened, *ids) == sample);
  }
  EXPECT_GT(read, 10);
}

TEST(TokenizerJson, MegabytesTakeSeconds) {
  std::vector<std::pair<std::string, std::string>> merges = {{"a", "a"}, {"aa", "aa"}, {" ", " "}, {"\n", "\n"}};
  for (const auto& splits : {std::vector<std::string>{}, {test::kGlmSplit}, test::kDeepSeekSplits}) {
    const auto tokenizer =
        open({.merges = merges, .added = {{"  ", false}, {"<s>", true}}, .splits = splits, .nfc = true});
    std::string mixed;
    for (int count = 0; count < 60'000; ++count) mixed += "a 1\u4f60\u0301\n <s \t";
    const auto begin = std::chrono::steady_clock::now();
    for (const std::string& text : {std::string(1'000'000, 'a'), std::string(1'000'000, ' '),
                                    std::string(1'000'000, '\n'), std::string(1'000'000, '1'), mixed})
      for (const auto spelling : {SpecialSpelling::text, SpecialSpelling::token})
        EXPECT_EQ(decoded(*tokenizer, test::must(tokenizer->encode(text, spelling))), text);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    EXPECT_LT(took.count(), 60.0);  // a few seconds here; a quadratic step would need hours
  }
}

}  // namespace
}  // namespace sluice
