// run --trace and trace replay: a run's hits and those of its trace's replay are equal, to the last request.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "support/sluice_program.h"

namespace sluice::test {
namespace {

using nlohmann::json;

// Hot enough that the text does not end early.
const Arguments kRequest = {"--prompt", "One two three four", "--max-tokens", "40", "--temperature", "100"};

json report(const std::filesystem::path& path) { return json::parse(std::ifstream(path)); }

// The slots that the head of a trace names.
std::string slots_of(const std::filesystem::path& trace) {
  std::ifstream file(trace);
  std::string word, slots;
  for (int count = 0; count < 8; ++count) file >> word;  // # sluice routing trace: layers experts top_k slots
  return word;
}

TEST(Trace, ARunMissesWhatItsReplayMisses) {
  const TempDir scratch;
  const Bounds bounds = memory_bounds(demo_model(), {"--prefill-chunk", "4"});
  for (const int part : {0, 1, 3, 6, 8}) {
    SCOPED_TRACE(part);
    const std::string trace = (scratch / "run.trace").string(), json_file = (scratch / "replay.json").string();
    const Generated run =
        generated(demo_model(), kRequest + Arguments{"--prefill-chunk", "4", "--trace", trace, "--memory",
                                                     std::to_string(bounds.between(part, 8))});
    const Outcome replay =
        sluice({"trace", "replay", trace, "--slots", slots_of(trace), "--policy", "default", "--json", json_file});
    ASSERT_EQ(replay.exit_code, 0) << replay.err;
    const json entry = report(json_file).at(0);
    EXPECT_EQ(entry.at("requests"), run.report.at("experts").at("requests"));
    EXPECT_EQ(entry.at("hits"), run.report.at("experts").at("hits"));
    EXPECT_LT(entry.at("decode_requests"), entry.at("requests"));  // the prompt is in it
    EXPECT_GT(entry.at("decode_requests"), 8 * 4 * 10);
    EXPECT_TRUE(part < 6 || entry.at("hits") > 0);
  }
}

TEST(Trace, TracingChangesNothing) {
  const TempDir scratch;
  const std::string trace = (scratch / "run.trace").string();
  EXPECT_EQ(generated(demo_model(), kRequest + Arguments{"--trace", trace}).answer(),
            generated(demo_model(), kRequest).answer());
}

TEST(Trace, ReplayComparesAllPoliciesAtAllCapacities) {
  const TempDir scratch;
  const std::string trace = SLUICE_SOURCE_DIR "/tests/traces/gpt_oss_head.trace";
  const Outcome outcome = sluice({"trace", "replay", trace, "--capacity", "250M,1.5G", "--json", "-"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json list = json::parse(outcome.out);
  ASSERT_TRUE(list.is_array());
  std::map<std::string, std::map<std::uint64_t, std::uint64_t>> hits;
  for (const json& entry : list) {
    EXPECT_EQ(entry.at("decode_requests"), 36 * 2 * 12);
    hits[entry.at("policy")][entry.at("capacity_bytes")] = entry.at("decode_hits");
  }
  for (const char* policy : {"default", "lru", "belady"}) {
    ASSERT_EQ(hits[policy].size(), 2u) << policy;
    EXPECT_GE(hits["belady"][250u << 20], hits[policy][250u << 20]);
    EXPECT_GE(hits["belady"][3u << 29], hits[policy][3u << 29]);
  }
  const Outcome table = sluice({"trace", "replay", trace});
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_NE(table.out.find("belady"), std::string::npos);
}

TEST(Trace, ReportDescribesReuseOverlapAndHotExperts) {
  const TempDir scratch;
  const std::string trace = SLUICE_SOURCE_DIR "/tests/traces/gpt_oss_head.trace";
  const std::string json_file = (scratch / "report.json").string();
  const Outcome outcome = sluice({"trace", "report", trace, "--hottest", "3", "--json", json_file});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* word : {"overlap", "hottest", "distinct"}) EXPECT_NE(outcome.out.find(word), std::string::npos);
  const json found = report(json_file);
  EXPECT_EQ(found.at("decode_tokens"), 12);
  EXPECT_EQ(found.at("overlap").size(), 36u);
  EXPECT_EQ(found.at("hottest").size(), 3u);
  EXPECT_LE(found.at("reuse").at(0).at("share"), found.at("seen_before"));
}

TEST(Trace, RefusesWithASentence) {
  const std::string demo = demo_model().string(), trace = SLUICE_SOURCE_DIR "/tests/traces/gpt_oss_head.trace";
  for (const auto& [arguments, exit_code] : std::vector<std::pair<Arguments, int>>{
           {{"trace", "replay", "/nowhere/a.trace"}, 1},
           {{"trace", "replay", demo + "/config.json"}, 1},
           {{"trace", "replay", trace, "--capacity", "lots"}, 1},
           {{"trace", "replay", trace, "--policy", "clairvoyant"}, 2},
           {{"trace", "replay", trace, "--slots", "0"}, 2},
           {{"trace"}, 2},
           {{"run", demo, "--prompt", "a", "--trace", "/nowhere/a.trace"}, 1},
           {{"run", demo, "--prompt", "a", "--trace", "/tmp/a.trace", "--recompute"}, 2}}) {
    const Outcome outcome = sluice(arguments);
    EXPECT_TRUE(outcome.exit_code == exit_code || (exit_code == 1 && outcome.exit_code == 2)) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find("sluice: "), std::string::npos);
  }
}

}  // namespace
}  // namespace sluice::test
