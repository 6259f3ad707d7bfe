// How the program is spoken to: usage errors, interruption, partial checkpoints, what goes to which output.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "support/damage.h"
#include "support/sluice_program.h"

namespace sluice::test {
namespace {

TEST(Usage, WrongWordsEndWithTwo) {
  const std::string demo = demo_model().string();
  const std::vector<Arguments> wrong = {
      {},
      {"frobnicate"},
      {"run"},
      {"run", demo, "--frobnicate"},
      {"run", demo, "--threads", "many"},
      {"run", demo, "--threads", "0"},
      {"run", demo, "--max-tokens", "-1"},
      {"run", demo, "--prompt", "a", "--ids", "1"},
      {"run", demo, "--prompt"},
      {"run", demo, "more"},
      {"synth", "gpt-2", "/nowhere"},
  };
  for (const Arguments& arguments : wrong) {
    const Outcome outcome = sluice(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find("sluice: "), std::string::npos);
  }
}

TEST(Usage, WrongValuesEndWithOneOrTwo) {
  const std::string demo = demo_model().string();
  for (const Arguments& more : std::vector<Arguments>{{"--memory", "lots"},
                                                      {"--io", "magic"},
                                                      {"--isa", "mmx"},
                                                      {"--ids", "1,99999999"},
                                                      {"--layers", "1000"},
                                                      {"--prompt-file", "/nowhere/prompt"},
                                                      {"--pin-experts", "51"},
                                                      {"--pin-experts", "-1"},
                                                      {"--temperature", "-1"}}) {
    SCOPED_TRACE(more[0]);
    const Arguments prompt =
        more[0] == "--ids" || more[0] == "--prompt-file" ? Arguments{} : Arguments{"--prompt", "a"};
    const Outcome outcome = sluice(Arguments{"run", demo, "--max-tokens", "1"} + prompt + more);
    EXPECT_TRUE(outcome.exit_code == 1 || outcome.exit_code == 2) << outcome.exit_code << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find("sluice: "), std::string::npos);
  }
}

// Before anything is computed: the models that are named here are not there, which would be told next.
TEST(Usage, WhereNothingCanBeWrittenIsToldFirst) {
  const TempDir scratch;
  const std::string folder = scratch.path().string(), below = folder + "/nosuch/x", kept = folder + "/kept";
  std::ofstream(kept) << "earlier figures";
  const std::string none = "/nowhere/model";
  for (const std::string& path : {below, folder, kept + "/x"}) {
    for (const Arguments& command : std::vector<Arguments>{{"run", none, "--ids", "1", "--json"},
                                                           {"run", none, "--ids", "1", "--save-session"},
                                                           {"verify", none, "--json"},
                                                           {"trace", "replay", none, "--json"},
                                                           {"bench", "token", none, "--json"},
                                                           {"bench", "kernels", "--json"},
                                                           {"bench", "io", none, "--json"}}) {
      const Outcome outcome = sluice(command + Arguments{path});
      EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
      EXPECT_EQ(outcome.out, "");
      EXPECT_EQ(outcome.err.find("sluice: " + command.back() + ": cannot write " + path), 0u) << outcome.err;
    }
  }
  // What can be written is left alone until there is something to write.
  for (const std::string& path : {kept, folder + "/new"})
    EXPECT_NE(sluice({"verify", none, "--json", path}).err.find(none), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(kept), 15u);
  EXPECT_FALSE(std::filesystem::exists(folder + "/new"));
  // A directory that the command makes is not there yet.
  const std::string made = folder + "/made";
  const Outcome converted =
      sluice({"convert", demo_model().string(), made, "--experts", "keep", "--json", made + "//plan.json"});
  EXPECT_EQ(converted.exit_code, 0) << converted.err;
  EXPECT_TRUE(std::filesystem::exists(made + "/plan.json"));
}

TEST(Usage, BenchIoNeedsSomethingToRead) {
  const TempDir scratch;
  for (const std::string& path : {scratch.path().string(), (scratch / "nosuch").string()}) {
    const Outcome outcome = sluice({"bench", "io", path});
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(path), std::string::npos) << outcome.err;
  }
}

TEST(Usage, HelpAndVersionAreResults) {
  for (const Arguments& arguments : std::vector<Arguments>{{"--help"}, {"--version"}, {"run", "--help"}}) {
    const Outcome outcome = sluice(arguments);
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_NE(outcome.out.find("sluice"), std::string::npos);
    EXPECT_EQ(outcome.err, "");
  }
}

TEST(Run, TextOnStandardOutputReportOnStandardError) {
  const Arguments request = {"--prompt", "The capital of France is", "--max-tokens", "8"};
  const Generated run = generated(demo_model(), request);
  EXPECT_EQ(run.outcome.out, run.report.at("text").get<std::string>() + "\n");
  EXPECT_NE(run.outcome.err.find("memory"), std::string::npos);
  const Outcome quiet = sluice(Arguments{"run", demo_model().string(), "--quiet"} + request);
  EXPECT_EQ(quiet.out, run.outcome.out);
  EXPECT_EQ(quiet.err, "");
  const Outcome json = sluice(Arguments{"run", demo_model().string(), "--json", "-"} + request);
  EXPECT_EQ(nlohmann::json::parse(json.out).at("text"), run.report.at("text"));
}

TEST(Run, TakesThePromptFromFilesStandardInputAndIds) {
  const std::string text = "The capital of France is";
  const Arguments length = {"--max-tokens", "4"};
  const Generated expected = generated(demo_model(), Arguments{"--prompt", text} + length);
  const Outcome from_input = sluice(Arguments{"run", demo_model().string(), "--prompt-file", "-"} + length, text);
  EXPECT_EQ(from_input.out, expected.outcome.out);
  std::string ids;
  for (const int id : expected.report.at("prompt_ids")) ids += (ids.empty() ? "" : ",") + std::to_string(id);
  EXPECT_EQ(generated(demo_model(), Arguments{"--ids", ids} + length).answer(), expected.answer());
}

TEST(Run, OneTokenOfOneLayerIsToldInTheSingular) {
  const TempDir scratch;
  synthesize("olmoe", scratch / "model", {"--layers", "1"});
  const std::string model = (scratch / "model").string();
  const Outcome run = sluice({"run", model, "--ids", "5", "--max-tokens", "1"});
  EXPECT_NE(run.err.find("1 token ("), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("prompt of 1 token in"), std::string::npos) << run.err;
  const Outcome seen = sluice({"inspect", model});
  EXPECT_NE(seen.out.find("1 layer,"), std::string::npos) << seen.out;
}

TEST(Run, CtrlCEndsWith130AndKeepsTheText) {
  RunningProgram program(sluice_path(), {"run", demo_model().string(), "--prompt", "One two three", "--max-tokens",
                                         "4000", "--temperature", "100", "--recompute"});
  const auto begin = std::chrono::steady_clock::now();
  while (program.out_so_far().empty() && !program.done() &&
         std::chrono::steady_clock::now() - begin < std::chrono::seconds(60))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  program.send(SIGINT);
  const Outcome outcome = program.finish();
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_NE(outcome.out, "");
  EXPECT_NE(outcome.err.find("interrupted"), std::string::npos) << outcome.err;
}

// Before there is anything to save, too.
TEST(Run, CtrlCEndsWith130WhereASessionWasToBeSaved) {
  const TempDir scratch;
  const std::string prompt = (scratch / "prompt").string(), session = (scratch / "session").string();
  ASSERT_EQ(::mkfifo(prompt.c_str(), 0600), 0);
  RunningProgram program(sluice_path(), {"run", demo_model().string(), "--prompt-file", prompt, "--max-tokens", "4",
                                         "--usage", "off", "--save-session", session});
  std::ofstream text(prompt);  // waits until the program reads
  program.send(SIGINT);
  text << "One two three";
  text.close();
  const Outcome outcome = program.finish();
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_NE(outcome.err.find("nothing to save"), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(session));
}

// Files of programs that are started while it lives may have so many bytes: what a full disk is to a large one.
class SmallFiles {
 public:
  explicit SmallFiles(::rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const ::rlimit small{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallFiles() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  ::rlimit before_{};
};

TEST(Run, ASessionThatDoesNotFitIsToldAfterTheText) {
  const TempDir scratch;
  const std::string session = (scratch / "session").string(), json = (scratch / "json").string();
  const Arguments request = {"run", demo_model().string(), "--prompt", "One two three", "--max-tokens", "4", "--usage",
                             "off"};
  const std::string text = sluice(request).out;
  const Outcome outcome = [&] {
    const SmallFiles limit(16 << 10);
    return sluice(request + Arguments{"--save-session", session, "--json", json});
  }();
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_EQ(outcome.out, text);
  EXPECT_NE(outcome.err.find("sluice: --save-session: " + session + ": cannot write: File too large; the text was "),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("experts found in memory"), std::string::npos) << outcome.err;  // the report
  EXPECT_TRUE(std::filesystem::exists(json));
  EXPECT_FALSE(std::filesystem::exists(session));
  EXPECT_FALSE(std::filesystem::exists(session + ".part"));
}

TEST(Run, LayersOfAPartialCheckpoint) {
  const TempDir scratch;
  synthesize("kimi-k3", scratch / "all", {"--layers", "8"});
  const Arguments request = {"--ids", "1,2,3", "--max-tokens", "4", "--layers", "3"};
  const std::string expected = generated(scratch / "all", request).answer();
  copy_checkpoint(scratch / "all", scratch / "part");
  // One shard a layer, then the globals: layers 3 to 7 are not there.
  const std::vector<std::filesystem::path> shards = shards_of(scratch / "part");
  ASSERT_GE(shards.size(), 9u);
  for (std::size_t layer = 3; layer < 8; ++layer) std::filesystem::remove(shards[layer]);
  EXPECT_EQ(generated(scratch / "part", request).answer(), expected);
  EXPECT_EQ(sluice({"run", (scratch / "part").string(), "--ids", "1,2,3", "--max-tokens", "1"}).exit_code, 4);
}

}  // namespace
}  // namespace sluice::test
