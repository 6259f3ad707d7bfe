// --usage: what is known of earlier runs changes when experts are read and never a token; a file that is not right is
// one sentence.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <thread>

#include "support/served.h"
#include "support/sluice_program.h"

namespace sluice::test {
namespace {

const Arguments kRequest = {"--prompt", "One two three four", "--max-tokens", "12"};

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void set_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}
Arguments with_usage(const std::filesystem::path& file) { return {"--usage", file.string()}; }

TEST(ExpertUsage, NoFileWhateverItHoldsChangesAToken) {
  const TempDir scratch;
  const std::filesystem::path file = scratch / "usage";
  const Bounds bounds = memory_bounds(demo_model());
  for (const int part : {1, 5, 8}) {
    SCOPED_TRACE(part);
    std::filesystem::remove(file);
    const Arguments request = kRequest + Arguments{"--memory", std::to_string(bounds.between(part, 8))};
    const std::string expected = generated(demo_model(), request + Arguments{"--usage", "off"}).answer();
    EXPECT_EQ(generated(demo_model(), request + with_usage(file)).answer(), expected);
    const std::string good = text_of(file);
    ASSERT_FALSE(good.empty());
    const Generated again = generated(demo_model(), request + with_usage(file));
    EXPECT_EQ(again.answer(), expected);
    EXPECT_EQ(again.outcome.err.find("--usage"), std::string::npos) << again.outcome.err;
    EXPECT_NE(text_of(file), good);  // counted on
    for (const std::string& bad : {good.substr(0, good.size() - 5), good.substr(0, good.size() / 2) + good,
                                   std::string("sluice usage 0 x\n"), std::string("notes of mine"), std::string()}) {
      set_text(file, bad);
      const Generated run = generated(demo_model(), request + with_usage(file));
      EXPECT_EQ(run.answer(), expected);
      const std::size_t told = run.outcome.err.find("--usage: " + file.string());
      ASSERT_NE(told, std::string::npos) << run.outcome.err;
      EXPECT_EQ(run.outcome.err.find("--usage", told + 1), std::string::npos) << run.outcome.err;
      if (bad == "notes of mine")
        EXPECT_EQ(text_of(file), bad);  // not ours to write over
      else
        EXPECT_EQ(text_of(file).size(), good.size());
    }
  }
}

TEST(ExpertUsage, AFileOfAnotherCheckpointIsLeftAlone) {
  const TempDir scratch;
  synthesize("olmoe", scratch / "model", {"--layers", "2"});
  const std::filesystem::path file = scratch / "usage";
  generated(demo_model(), kRequest + with_usage(file));
  const std::string before = text_of(file);
  const Generated run =
      generated(scratch / "model", Arguments{"--ids", "1,2,3", "--max-tokens", "2"} + with_usage(file));
  EXPECT_NE(run.outcome.err.find("belongs to another checkpoint"), std::string::npos) << run.outcome.err;
  EXPECT_EQ(text_of(file), before);
}

// With room for some experts only, a server that nobody asks reads those that were used most, and then rests.
TEST(ExpertUsage, AServerBeginsWithTheHottestExperts) {
  const TempDir scratch;
  const std::filesystem::path file = scratch / "usage";
  const std::string expected = generated(demo_model(), kRequest + with_usage(file)).report.at("text");
  const Arguments slots = {"--slots", "1", "--context", "512"};
  const Outcome refusal = sluice(Arguments{"serve", demo_model().string(), "--memory", "1M"} + slots);
  std::smatch least;
  ASSERT_TRUE(std::regex_search(refusal.err, least, std::regex("--memory ([0-9]+)M"))) << refusal.err;
  const Arguments budget = {"--memory", std::to_string(std::stoi(least[1]) + 4) + "M"};  // the trunk and some experts
  const std::string read = "sluice_read_bytes_total{what=\"experts\"}";
  for (const bool known : {true, false}) {
    const Served server(slots + budget + (known ? with_usage(file) : Arguments{"--preload", "off"}));
    double before = 0;
    for (int wait = 0; wait < 60 && (known ? before <= 0 || server.metric(read) > before : wait < 3); ++wait) {
      before = server.metric(read);
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    EXPECT_EQ(before > 0, known);
    const auto answer = server.posted("/v1/completions",
                                      R"({"model":"x","prompt":"One two three four","max_tokens":12,"temperature":0})");
    EXPECT_EQ(answer.at("choices").at(0).at("text"), expected);
  }
}

TEST(ExpertUsage, ARunThatIsTracedReadsNothingAheadOfNeed) {
  const TempDir scratch;
  const std::filesystem::path file = scratch / "usage";
  generated(demo_model(), kRequest + with_usage(file));
  const Generated run =
      generated(demo_model(), kRequest + with_usage(file) + Arguments{"--trace", (scratch / "trace").string()});
  EXPECT_EQ(run.report.at("bytes").at("experts_preloaded"), 0);
  const Generated off = generated(demo_model(), kRequest + with_usage(file) + Arguments{"--preload", "off"});
  EXPECT_EQ(off.report.at("bytes").at("experts_preloaded"), 0);
}

}  // namespace
}  // namespace sluice::test
