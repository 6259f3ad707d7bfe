// Tests of regex_notation.h: the families' expressions pass, what two engines read differently does not.
#include "text/regex_notation.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "support/must.h"
#include "support/tokenizer_json.h"
#include "text/split_pattern.h"
#include "text/tokenizer_json.h"

namespace sluice {
namespace {

TEST(RegexNotation, WhatMeansTheSamePasses) {
  for (const char* regex :
       {"a|b", "(?i:'s|'t)+", "[^a-z\\n]{2,}", "x{1,3}(?!y)", "\\[\\\\", "(ab)*", "[-\u00e9]", "\u4e00?"})
    EXPECT_EQ(test::must(to_pcre2(regex)), regex);
  EXPECT_EQ(test::must(to_pcre2(R"(\s\S[^\s\p{L}])")), R"(\p{White_Space}\P{White_Space}[^\p{White_Space}\p{L}])");
}

TEST(RegexNotation, AnythingElseIsRefusedByName) {
  const std::pair<const char*, const char*> cases[] = {{"[a&&[^b]]", "offset 2: an intersection"},
                                                       {"[a[b]]", "offset 2: a class in a class"},
                                                       {"[[:alpha:]]", "a class in a class"},
                                                       {"a+?", "offset 1: a quantifier that is not greedy"},
                                                       {"a++", "not greedy"},
                                                       {"a{1,3}+", "not greedy"},
                                                       {"a{,3}", "begins no count"},
                                                       {"a{x}", "begins no count"},
                                                       {"(?<name>a)", "group '(?<'"},
                                                       {"(?>a)", "group"},
                                                       {"(*FAIL)", "group"},
                                                       {"\\p{Han}", "property"},
                                                       {"\\p{^L}", "property"},
                                                       {"\\pL", "property"},
                                                       {"\\d", "escape '\\d'"},
                                                       {"\\b", "escape"},
                                                       {"[\\h]", "escape"},
                                                       {"\\", "escape"},
                                                       {"a.", "'.'"},
                                                       {"^a", "'^'"},
                                                       {"a$", "'$'"},
                                                       {"*", "'*'"},
                                                       {"(a", "a group that does not end"},
                                                       {"a)", "closing bracket"},
                                                       {"[a", "a class that does not end"},
                                                       {"[]a]", "a class that begins with ]"},
                                                       {"\\p{L", "property"}};
  for (const auto& [regex, complaint] : cases) {
    const auto notation = to_pcre2(regex);
    ASSERT_FALSE(notation) << regex;
    EXPECT_EQ(notation.error().kind, ErrorKind::unsupported);
    EXPECT_NE(notation.error().what.find(complaint), std::string::npos) << notation.error().what;
  }
}

TEST(RegexNotation, PiecesOfEveryFamily) {
  const auto golden = nlohmann::json::parse(std::ifstream(SLUICE_SOURCE_DIR "/tests/golden/text/split_goldens.json"));
  const std::pair<const char*, std::vector<std::string>> families[] = {{"glm_dsa", {test::kGlmSplit}},
                                                                       {"deepseek_v4", test::kDeepSeekSplits},
                                                                       {"olmoe", {std::string(kByteLevelSplit)}}};
  ASSERT_EQ(golden.at("cases").size(), 55u);
  for (const auto& [family, regexes] : families) {
    std::vector<std::string> patterns;
    for (const std::string& regex : regexes) patterns.push_back(test::must(to_pcre2(regex)));
    const SplitPattern pattern = test::must(SplitPattern::compile_steps(patterns));
    for (const auto& item : golden.at("cases")) {
      std::vector<std::string> pieces;
      test::must(pattern.split(item.at("text").get<std::string>(),
                               [&](std::string_view piece) { pieces.emplace_back(piece); }));
      EXPECT_EQ(pieces, item.at(family).get<std::vector<std::string>>()) << family << ": " << item.at("text");
    }
  }
}

// U+180E is whitespace to PCRE2's \s, not to Unicode.
TEST(RegexNotation, WhitespaceIsUnicodes) {
  const SplitPattern pattern = test::must(SplitPattern::compile_steps(std::vector{test::must(to_pcre2(R"(\s+)"))}));
  std::vector<std::string> pieces;
  test::must(pattern.split("a\u180e\u2003\u0085z", [&](std::string_view piece) { pieces.emplace_back(piece); }));
  EXPECT_EQ(pieces, (std::vector<std::string>{"a\u180e", "\u2003\u0085", "z"}));
}

}  // namespace
}  // namespace sluice
