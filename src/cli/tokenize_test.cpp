// Tests of sluice tokenize, with the vocabulary of a tiny checkpoint.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "support/temp_dir.h"

namespace sluice::cli {
namespace {

const std::string kModel = SLUICE_SOURCE_DIR "/tests/golden/kimi_k3/a";

struct Outcome {
  std::string output;
  Result<> result;
};

Outcome tokenize(std::vector<std::string> arguments) {
  CLI::App app;
  Chosen chosen;
  add_tokenize(app, chosen);
  arguments.insert(arguments.begin(), "tokenize");
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants it
  app.parse(arguments);
  testing::internal::CaptureStdout();
  Result<> result = chosen();
  std::fflush(stdout);
  return {testing::internal::GetCapturedStdout(), std::move(result)};
}

TEST(Tokenize, OneLineOfIdsAndBack) {
  EXPECT_EQ(tokenize({kModel, "--text", "The quick brown fox"}).output, "325,220,375,438,220,437,500,312,87\n");
  EXPECT_EQ(tokenize({kModel, "--decode", "325,220,375,438,220,437,500,312,87"}).output, "The quick brown fox");
  EXPECT_EQ(tokenize({kModel, "--text", ""}).output, "\n");
}

TEST(Tokenize, SpecialTokensOnlyWhenAsked) {
  EXPECT_EQ(tokenize({kModel, "--text", "<|open|>", "--special"}).output, "515\n");
  EXPECT_EQ(tokenize({kModel, "--text", "<|open|>"}).output.find("515"), std::string::npos);
  EXPECT_EQ(tokenize({kModel, "--decode", "515"}).output, "<|open|>");
}

// Families whose vocabulary is a tokenizer.json.
TEST(Tokenize, TokenizerJson) {
  const std::string glm = SLUICE_SOURCE_DIR "/tests/golden/glm_dsa/a";
  const std::string ids = tokenize({glm, "--text", "[gMASK]<sop>The end<think>", "--special"}).output;
  EXPECT_TRUE(ids.starts_with("514,516,") && ids.ends_with(",533\n")) << ids;
  EXPECT_EQ(tokenize({glm, "--decode", ids.substr(0, ids.size() - 1)}).output, "[gMASK]<sop>The end<think>");
  EXPECT_EQ(tokenize({glm, "--text", "<think>"}).output.find("533"), std::string::npos);
}

TEST(Tokenize, JsonHoldsPiecesAndBytes) {
  const auto json = nlohmann::json::parse(tokenize({kModel, "--text", "a\u4f60", "--json", "-"}).output);
  EXPECT_EQ(json.at("text"), "a\u4f60");
  EXPECT_EQ(json.at("count"), json.at("ids").size());
  EXPECT_EQ(json.at("pieces").at(0), "a");
  std::string digits;
  for (const std::string token : json.at("bytes")) digits += token;
  EXPECT_EQ(digits, "61e4bda0");

  const test::TempDir directory;
  const Outcome both = tokenize({kModel, "--text", "a", "--json", directory / "out.json"});
  EXPECT_EQ(both.output, "64\n");
  EXPECT_EQ(nlohmann::json::parse(std::ifstream(directory / "out.json")).at("ids"), nlohmann::json({64}));
}

TEST(Tokenize, ImpossibleIdsAndFilesAreRefused) {
  for (const char* ids : {"768", "-1"}) {
    const Outcome outcome = tokenize({kModel, "--decode", ids});
    ASSERT_FALSE(outcome.result) << ids;
    EXPECT_EQ(outcome.result.error().kind, ErrorKind::bad_input);
    EXPECT_NE(outcome.result.error().what.find(ids), std::string::npos);
  }
  const Outcome not_utf8 = tokenize({kModel, "--text", "a\xff"});
  ASSERT_FALSE(not_utf8.result);
  EXPECT_NE(not_utf8.result.error().what.find("byte 1"), std::string::npos);

  const test::TempDir directory;
  std::filesystem::copy(kModel + "/config.json", directory / "config.json");
  const Outcome no_vocabulary = tokenize({directory.path(), "--text", "a"});
  ASSERT_FALSE(no_vocabulary.result);
  EXPECT_NE(no_vocabulary.result.error().what.find("tiktoken.model"), std::string::npos);

  // One entry too few or too many would shift the id of every special token.
  const std::filesystem::path file = directory / "tiktoken.model";
  std::filesystem::copy(kModel + "/tiktoken.model", file);
  std::ofstream(file, std::ios::app) << "/v////8= 512\n";
  const Outcome longer = tokenize({directory.path(), "--text", "a"});
  ASSERT_FALSE(longer.result);
  EXPECT_NE(longer.result.error().what.find("holds 513 entries"), std::string::npos) << longer.result.error().what;

  std::ifstream whole(kModel + "/tiktoken.model");
  std::ofstream cut(file);
  std::string line;
  for (int rank = 0; rank < 511 && std::getline(whole, line); ++rank) cut << line << "\n";
  cut.close();
  const Outcome shorter = tokenize({directory.path(), "--text", "a"});
  ASSERT_FALSE(shorter.result);
  EXPECT_NE(shorter.result.error().what.find("vocab_size 768"), std::string::npos) << shorter.result.error().what;
}

}  // namespace
}  // namespace sluice::cli
