// Tests of GLM-5.2's tokenizer: encodings of the release (spec section 7), goldens of the package tokenizers.
#include "models/glm_dsa/tokenizer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "models/common/prompt_parts.h"
#include "models/glm_dsa/chat.h"
#include "support/decoded.h"
#include "support/must.h"
#include "support/temp_dir.h"
#include "support/tokenizer_json.h"
#include "text/json_text.h"

namespace sluice::glm_dsa {
namespace {

using Ids = std::vector<int>;
using test::decoded;

// A vocabulary of the release's size and order where the ids of a few words are known; the others are bytes that occur
// in no text.
const Tokenizer& released_tokenizer() {
  static const std::unique_ptr<Tokenizer> tokenizer = [] {
    const std::map<int, std::string> known = {{374, " is"},   {1052, " there"}, {1879, " world"}, {3430, "Be"},
                                              {3838, "What"}, {9703, "Hello"},  {9809, " brief"}, {10397, " OK"},
                                              {13041, "Hi"},  {45494, "Say"}};
    const std::vector<std::string> bytes = test::single_bytes();
    std::string vocab, added;
    for (int id = 0; id < 154820; ++id) {
      const auto word = known.find(id);
      const std::string token = id < 256              ? bytes[static_cast<std::size_t>(id)]
                                : word != known.end() ? word->second
                                                      : "\xff" + std::to_string(id);
      vocab += (id == 0 ? "" : ",") + json_string(write_byte_alphabet(token)) + ":" + std::to_string(id);
    }
    int id = 154820;
    for (const auto& [text, special] : test::glm_added_tokens())
      added += std::string(added.empty() ? "" : ",") + R"({"id":)" + std::to_string(id++) + R"(,"content":)" +
               json_string(text) + R"(,"special":)" + (special ? "true" : "false") + R"(,"normalized":false})";
    auto frame = test::TokenizerJson{.splits = {test::kGlmSplit}, .ignore_merges = true}.json();
    frame["added_tokens"] = "ADDED";
    frame["model"]["vocab"] = "VOCAB";
    std::string text = frame.dump();
    text.replace(text.find("\"ADDED\""), 7, "[" + added + "]");
    text.replace(text.find("\"VOCAB\""), 7, "{" + vocab + "}");
    const test::TempDir directory;
    std::ofstream(directory / "tokenizer.json") << text;
    return test::must(open_tokenizer(directory.path(), 154880));
  }();
  return *tokenizer;
}

TEST(GlmTokenizer, EncodingsOfTheRelease) {
  const std::pair<const char*, Ids> cases[] = {
      {"Hello", {9703}},
      {"Hello, world!", {9703, 11, 1879, 0}},
      {"Hi", {13041}},
      {"Say OK.", {45494, 10397, 13}},
      {"Be brief.", {3430, 9809, 13}},
      {"What is 2+2?", {3838, 374, 220, 17, 10, 17, 30}},
      {"[gMASK]<sop><|user|>Hello<|assistant|><think></think>", {154822, 154824, 154827, 9703, 154828, 154841, 154842}},
      {"Hi there! I", {13041, 1052, 0, 220, 40}},  // " I" is no known word here
  };
  for (const auto& [text, ids] : cases) {
    EXPECT_EQ(test::must(released_tokenizer().encode(text, SpecialSpelling::token)), ids) << text;
    EXPECT_EQ(decoded(released_tokenizer(), ids), text);
  }
  const auto prompt = [](const std::string& text) {
    return test::must(test::must(open_chat(released_tokenizer(), "/nowhere"))
                          ->render({.messages = {{.content = {{.text = text}}}}}, {.thinking = false}));
  };
  EXPECT_EQ(prompt("Hello"), (Ids{154822, 154824, 154827, 9703, 154828, 154841, 154842}));
  EXPECT_EQ(prompt("Hi"), (Ids{154822, 154824, 154827, 13041, 154828, 154841, 154842}));
}

TEST(GlmTokenizer, AddedTokensOfTheRelease) {
  const std::pair<const char*, int> known[] = {
      {"<|endoftext|>", 154820},   {"[gMASK]", 154822},          {"<sop>", 154824},    {"<|system|>", 154826},
      {"<|user|>", 154827},        {"<|assistant|>", 154828},    {"<think>", 154841},  {"</think>", 154842},
      {"<|observation|>", 154829}, {"</tool_response>", 154846}, {"/nothink", 154851}, {"<|video|>", 154855}};
  for (const auto& [text, id] : known) {
    EXPECT_EQ(released_tokenizer().special_id(text), id);
    EXPECT_TRUE(released_tokenizer().is_special(id));
    for (const int piece : test::must(released_tokenizer().encode(text, SpecialSpelling::text)))
      EXPECT_FALSE(released_tokenizer().is_special(piece)) << text;
  }
  EXPECT_FALSE(released_tokenizer().is_shown(154827));
  EXPECT_TRUE(released_tokenizer().is_shown(154841));
  // The last rows of the embedding have no token.
  EXPECT_EQ(released_tokenizer().vocab_size(), 154880);
  EXPECT_EQ(released_tokenizer().bytes(154856), "");
  EXPECT_FALSE(released_tokenizer().is_shown(154879));
  EXPECT_LT(released_tokenizer().resident_bytes(), 16u << 20);
}

TEST(GlmTokenizer, GoldensOfThePackageTokenizers) {
  const std::string folder = SLUICE_SOURCE_DIR "/tests/golden/glm_dsa/";
  const auto golden = nlohmann::json::parse(std::ifstream(folder + "tokenizer_goldens.json"));
  const auto config = nlohmann::json::parse(std::ifstream(folder + "a/config.json"));
  const auto tokenizer = test::must(open_tokenizer(folder + "a", config.at("vocab_size")));
  ASSERT_GE(golden.at("cases").size(), 100u);
  for (const auto& item : golden.at("cases")) {
    const std::string text = item.at("text");
    const Ids ids = item.at("ids");
    EXPECT_EQ(test::must(tokenizer->encode(text, SpecialSpelling::token)), ids) << text;
    EXPECT_EQ(test::must(tokenizer->encode(text, SpecialSpelling::text)), item.value("plain", ids)) << text;
    EXPECT_EQ(decoded(*tokenizer, ids), text);
  }
}

}  // namespace
}  // namespace sluice::glm_dsa
