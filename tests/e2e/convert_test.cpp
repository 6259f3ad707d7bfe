// sluice convert as a user meets it: killed, interrupted or out of room at any moment and started again; what it leaves
// runs, and gives the same answer under every setting.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "support/at_call.h"
#include "support/directory_contents.h"
#include "support/kills.h"
#include "support/sluice_program.h"
#include "support/temp_dir.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

class ConvertCommand : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new TempDir;
    synthesize("glm-5.2", source(), {"--layers", "4", "--experts", "4"});
    const Outcome outcome = sluice(arguments(whole()));
    if (outcome.exit_code != 0) throw std::runtime_error(outcome.err);
  }
  static void TearDownTestSuite() {
    delete scratch_;
    scratch_ = nullptr;
  }
  void TearDown() override { fs::remove_all(out()); }

  static fs::path source() { return *scratch_ / "source"; }
  static fs::path whole() { return *scratch_ / "whole"; }  // converted without interruption
  static fs::path out() { return *scratch_ / "out"; }
  static Arguments arguments(const fs::path& directory) {
    return {"convert", source().string(), directory.string(), "--experts", "int4g64", "--threads", "1", "--shard-size",
            "300K"};
  }
  static Outcome convert() { return sluice(arguments(out())); }
  // That change the disk, in an uninterrupted conversion.
  static int calls_made() {
    const AtCall order(0, "count");
    return calls_told(convert());
  }
  static void expect_whole() {
    const Outcome outcome = convert();
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_TRUE(directory_contents(out()) == directory_contents(whole()));
  }

 private:
  static inline TempDir* scratch_ = nullptr;
};

// Every call at the beginning, where the directory is taken, and at the end, where it gets its name; some in between.
TEST_F(ConvertCommand, KilledAtAnyWriteItGoesOn) {
  if (built_with_sanitizers()) GTEST_SKIP() << "the sanitizer must be loaded first";
  const int calls = calls_made();
  ASSERT_GT(calls, 40);
  constexpr const char* kWays[] = {"kill-before", "kill-within", "kill-after"};
  const auto tried = [&](int call) { return call <= 8 || call >= calls - 8 || call % (calls / 16) == 0; };
  expect_to_go_on({out(), whole(), calls}, kWays, tried, [] { return convert(); });
}

TEST_F(ConvertCommand, KilledAgainAndAgainItEnds) {
  if (built_with_sanitizers()) GTEST_SKIP() << "the sanitizer must be loaded first";
  const int calls = calls_made();
  fs::remove_all(out());
  int runs = 0;
  Outcome outcome;
  do {  // each run gets some shards further
    const AtCall order(calls * 2 / 5, "kill-within");
    outcome = convert();
    ASSERT_LT(++runs, 20);
  } while (outcome.exit_code != 0);
  EXPECT_GE(runs, 3);
  EXPECT_TRUE(directory_contents(out()) == directory_contents(whole()));
}

TEST_F(ConvertCommand, KilledByTheClockItGoesOn) {
  for (const int milliseconds : {3, 10, 25, 60}) {
    fs::remove_all(out());
    RunningProgram running(sluice_path(), arguments(out()));
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    running.send(9);
    running.finish();
    expect_whole();
  }
}

TEST_F(ConvertCommand, AFullDiskIsToldAndLeavesNoHalfFile) {
  if (built_with_sanitizers()) GTEST_SKIP() << "the sanitizer must be loaded first";
  for (const int call : {1, 9, 40}) {
    SCOPED_TRACE(call);
    fs::remove_all(out());
    const Outcome outcome = [&] {
      const AtCall order(call, "full");
      return convert();
    }();
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    EXPECT_NE(outcome.err.find("No space left"), std::string::npos) << outcome.err;
    for (const auto& [name, bytes] : directory_contents(out())) EXPECT_FALSE(name.ends_with(".part")) << name;
    expect_whole();
  }
}

TEST_F(ConvertCommand, InterruptedItStopsAndGoesOn) {
  if (built_with_sanitizers()) GTEST_SKIP() << "the sanitizer must be loaded first";
  const Outcome outcome = [&] {
    const AtCall order(30, "interrupt");
    return convert();
  }();
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_NE(outcome.err.find("the same command goes on"), std::string::npos) << outcome.err;
  EXPECT_FALSE(fs::exists(out() / "config.json"));
  expect_whole();
}

TEST_F(ConvertCommand, WhatIsDoneIsLeftAlone) {
  expect_whole();
  const Outcome again = convert();
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_NE(again.err.find("already done"), std::string::npos) << again.err;
  const Outcome other = sluice(arguments(out()) + Arguments{"--io", "fp8"});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_NE(other.err.find("io int8, not fp8"), std::string::npos) << other.err;
  EXPECT_TRUE(directory_contents(out()) == directory_contents(whole()));
}

TEST_F(ConvertCommand, AForeignDirectoryIsRefused) {
  fs::create_directories(out());
  std::ofstream(out() / "thesis.tex") << "ten years";
  const Outcome outcome = convert();
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("holds something else already"), std::string::npos) << outcome.err;
  EXPECT_EQ(directory_contents(out()).size(), 1u);
  const Outcome itself = sluice({"convert", source().string(), source().string()});
  EXPECT_EQ(itself.exit_code, 1) << itself.err;
}

TEST_F(ConvertCommand, ADryRunWritesNothing) {
  const Outcome outcome = sluice(arguments(out()) + Arguments{"--dry-run", "--json", "-"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_FALSE(fs::exists(out()));
  const nlohmann::json plan = nlohmann::json::parse(outcome.out);
  EXPECT_GT(plan.at("estimated_s"), 0);
  std::uint64_t bytes = 0;
  for (const auto& [name, text] : directory_contents(whole()))
    if (name.ends_with(".safetensors")) bytes += text.size();
  EXPECT_EQ(plan.at("bytes"), bytes);  // to the byte
  EXPECT_EQ(plan.at("kinds").at("experts").at("formats_after"), "int4g64");
}

TEST_F(ConvertCommand, WhatItWritesIsSoundAndRuns) {
  EXPECT_EQ(sluice({"verify", whole().string()}).exit_code, 0);
  EXPECT_TRUE(directory_contents(whole()).contains("generation_config.json"));
  const Arguments request = {"--ids", "1,2,3,4,5", "--max-tokens", "6"};
  const std::string expected = generated(whole(), request).answer();
  EXPECT_NE(expected, generated(source(), request).answer());
}

// Four bits and eight, over every way to run them: the promise holds for converted weights of every family too.
class ConvertedAnswers : public testing::TestWithParam<const char*> {};

TEST_P(ConvertedAnswers, DependOnNothing) {
  const TempDir scratch;
  const fs::path model = scratch / "model";
  const Subject& original = subject(GetParam());
  const Outcome made = sluice(
      {"convert", original.model.string(), model.string(), "--experts", "int4g64", "--dense", "int8", "--io", "int8"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Arguments request = original.prompt + Arguments{"--max-tokens", "6"};
  const std::string expected = generated(model, request).answer();
  const auto expect_same = [&](const Setting& setting) {
    EXPECT_EQ(generated(model, request + flags_of(setting, model)).answer(), expected) << setting.text();
  };
  const Axes axes = all_axes();
  for (const int budget : {0, kBudgets / 2}) expect_same({.budget = budget});
  for (const std::string& isa : axes.isa) expect_same({.budget = 1, .isa = isa});
  for (const std::string& threads : axes.threads) expect_same({.threads = threads});
  for (const std::string& chunk : axes.chunk) expect_same({.chunk = chunk});
  for (const std::string& io : axes.io) expect_same({.budget = 0, .io = io});
}

INSTANTIATE_TEST_SUITE_P(OfEveryFamily, ConvertedAnswers, testing::ValuesIn(kFamilies), family_name);

TEST_F(ConvertCommand, TheReportTellsTheDamage) {
  const fs::path ids = out().string() + ".ids";
  std::ofstream(ids) << "1, 2, 3, 17 4 9\n12 1 100 5 6";
  const auto report = [&](const fs::path& converted) {
    const Outcome outcome = sluice(
        {"compare", source().string(), converted.string(), "--ids", ids.string(), "--json", "-", "--context", "7"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out);
  };
  const nlohmann::json lost = report(whole()), same = report(source());
  EXPECT_EQ(lost.at("text").at("predictions"), 9);  // windows of 7 and 4
  EXPECT_EQ(same.at("text").at("kl_mean"), 0);
  EXPECT_EQ(same.at("text").at("agreement"), 1);
  EXPECT_EQ(same.at("text").at("original_perplexity"), same.at("text").at("converted_perplexity"));
  EXPECT_GT(lost.at("text").at("kl_mean"), 0);
  EXPECT_EQ(lost.at("text").at("original_perplexity"), same.at("text").at("original_perplexity"));
  EXPECT_GT(lost.at("weights").at("dense").at("rms_relative"), 0.001);
  EXPECT_LT(lost.at("weights").at("dense").at("rms_relative"), 0.02);
  EXPECT_EQ(lost.at("weights").at("kept").at("largest"), 0);
  EXPECT_EQ(same.at("weights").at("experts").at("largest"), 0);
}

// Both checkpoints are terabytes: a slip in the flags is told before a weight is touched. Here one weight is missing.
TEST_F(ConvertCommand, TheReportChecksItsFlagsFirst) {
  fs::create_directories(out());
  fs::copy(whole(), out() / "part");
  for (const fs::directory_entry& entry : fs::directory_iterator(out() / "part"))
    if (entry.path().extension() == ".safetensors") {
      fs::remove(entry.path());
      break;
    }
  const fs::path text = out() / "text", far = out() / "far";
  std::ofstream(text) << "12 words";
  std::ofstream(far) << "1, 2, 99999999";
  const auto compare = [&](const Arguments& more) {
    return sluice(Arguments{"compare", source().string(), (out() / "part").string()} + more);
  };
  EXPECT_EQ(compare({"--ids", text.string()}).exit_code, 4);
  const std::pair<Arguments, std::string> slips[] = {
      {{"--ids", (out() / "nothing").string()}, "cannot read"},
      {{"--ids", far.string()}, "beyond"},
      {{"--text", text.string()}, "tokenizer.json"},
      {{"--ids", text.string(), "--memory", "lots"}, "--memory"},
  };
  for (const auto& [flags, word] : slips) {
    const Outcome outcome = compare(flags);
    EXPECT_TRUE(outcome.exit_code == 1 || outcome.exit_code == 2) << outcome.exit_code << outcome.err;
    EXPECT_NE(outcome.err.find(word), std::string::npos) << outcome.err;
  }
}

// Whatever the size of the checkpoint, memory holds its tensor index and some megabytes for each thread.
TEST_F(ConvertCommand, MemoryStaysSmall) {
  if (built_with_sanitizers()) GTEST_SKIP() << "a sanitizer's memory is not the program's";
  const fs::path large = out() / "large";
  synthesize("glm-5.2", large, {"--layers", "4", "--experts", "300"});
  std::uint64_t bytes = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(large)) bytes += entry.file_size();
  const Outcome outcome =
      sluice({"convert", large.string(), (out() / "made").string(), "--experts", "int8", "--threads", "2"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_GT(bytes, 80u << 20);
  EXPECT_LT(outcome.peak_rss_bytes, 48u << 20);
}

}  // namespace
}  // namespace sluice::test
