// Conversations over the end of a server: another process goes on with the same tokens and computes only what is new.
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>

#include "support/served.h"
#include "support/temp_dir.h"

namespace sluice::test {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kPrompt = "The capital of France is";

struct Turn {
  std::string text;
  int cached;
};
Turn turn(const Served& server, const std::string& prompt) {
  const Json made =
      server.posted("/v1/completions", Json({{"prompt", prompt}, {"temperature", 0}, {"max_tokens", 12}}).dump());
  const Json& usage = made.at("usage");
  return {made.at("choices").at(0).at("text"), usage.at("prompt_tokens_details").at("cached_tokens")};
}
std::string end(Served& server) {
  server.program().send(SIGTERM);
  const Outcome outcome = server.program().finish();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return outcome.err;
}
std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

class Sessions : public testing::TestWithParam<const char*> {
 protected:
  fs::path model() const { return demo_model(GetParam()); }
  Arguments flags() const { return {"--sessions", (scratch_ / "kept").string(), "--slots", "3"}; }
  fs::path kept() const { return scratch_ / "kept"; }
  TempDir scratch_;
};
constexpr const char* kSessionDemos[] = {"kimi-k3", "olmoe", "glm-5.2"};
INSTANTIATE_TEST_SUITE_P(Families, Sessions, testing::ValuesIn(kSessionDemos), family_name);

TEST_P(Sessions, AnotherProcessGoesOn) {
  Turn first, wanted;
  {
    Served one({"--slots", "3"}, model());
    first = turn(one, kPrompt);
    wanted = turn(one, kPrompt + first.text + " and");
    EXPECT_GT(wanted.cached, 0);
  }
  {
    Served one(flags(), model());
    EXPECT_EQ(turn(one, kPrompt).text, first.text);
    EXPECT_NE(end(one).find("1 conversations are in"), std::string::npos);
  }
  ASSERT_EQ(files_in(kept()).size(), 1u);
  const auto written = fs::last_write_time(files_in(kept()).front());
  {
    Served idle(flags(), model());  // nothing changes, and nothing is written
    EXPECT_NE(end(idle).find("1 conversations are in"), std::string::npos);
  }
  ASSERT_EQ(files_in(kept()).size(), 1u);
  EXPECT_EQ(fs::last_write_time(files_in(kept()).front()), written);
  {
    Served two(flags(), model());
    const Turn second = turn(two, kPrompt + first.text + " and");
    EXPECT_EQ(second.text, wanted.text);
    EXPECT_EQ(second.cached, wanted.cached) << "the second process computes no more than the one that went on";
    end(two);
  }
  EXPECT_LE(files_in(kept()).size(), 2u);  // the longer conversation, and what it was forked from, if it was
}

TEST(SessionFolder, DamagedFilesAreRefusedAndForeignOnesLeftAlone) {
  const TempDir scratch;
  const fs::path folder = scratch / "kept";
  const Arguments flags = {"--sessions", folder.string(), "--slots", "3"};
  const fs::path other = demo_model("olmoe");
  Turn wanted;
  {
    Served one(flags);
    wanted = turn(one, kPrompt);
    turn(one, "Water is");
    Served foreign(flags, other);
    turn(foreign, kPrompt);
    end(foreign);
    end(one);
  }
  ASSERT_EQ(files_in(folder).size(), 3u);
  for (const fs::path& path : files_in(folder)) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const auto middle = static_cast<std::streamoff>(fs::file_size(path) / 2);
    file.seekg(middle);
    const int byte = file.get();
    file.seekp(middle);
    file.put(static_cast<char>(byte ^ 1));
  }
  Served two(flags);
  const Turn again = turn(two, kPrompt);
  EXPECT_EQ(again.text, wanted.text);
  EXPECT_EQ(again.cached, 0);
  const std::string said = end(two);
  EXPECT_NE(said.find("is computed again"), std::string::npos) << said;
  EXPECT_EQ(files_in(folder).size(), 2u) << "the other model's file, and the new conversation";
}

TEST(SessionFolder, NoMoreIsRestoredThanMemoryHolds) {
  const TempDir scratch;
  const Arguments folder = {"--sessions", (scratch / "kept").string(), "--context", "256"};
  std::vector<std::string> prompts;
  for (const char* word : {"one ", "two ", "three ", "four "}) {
    std::string& prompt = prompts.emplace_back();
    for (int times = 0; times < 100; ++times) prompt += word;
  }
  std::vector<std::string> wanted;
  {
    Served many(folder + Arguments{"--slots", "4", "--session-budget", "64M"});
    for (const std::string& prompt : prompts) wanted.push_back(turn(many, prompt).text);
    end(many);
  }
  ASSERT_EQ(files_in(scratch / "kept").size(), 4u);
  Served few(folder + Arguments{"--slots", "1"});
  const Turn last = turn(few, prompts.back());
  EXPECT_EQ(last.text, wanted.back());
  EXPECT_EQ(turn(few, prompts.front()).text, wanted.front());
  end(few);
  EXPECT_LT(files_in(scratch / "kept").size(), 4u);
}

TEST(SessionFolder, AFolderThatCannotBeIsToldAtTheStart) {
  const TempDir scratch;
  std::ofstream(scratch / "file") << "x";
  const Outcome outcome =
      sluice({"serve", demo_model().string(), "--port", "0", "--sessions", (scratch / "file" / "kept").string()});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("file/kept"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace sluice::test
