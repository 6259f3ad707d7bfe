// run --trace and trace replay: a run's hits and those of its trace's replay are equal, to the last request.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/sluice_program.h"

namespace sluice::test {
namespace {

using Json = nlohmann::json;

// Hot enough that the text does not end early.
const Arguments kHotRequest = {"--prompt", "One two three four", "--max-tokens", "40", "--temperature", "100"};

Json report(const std::filesystem::path& path) { return Json::parse(std::ifstream(path)); }

// The slots that the head of a trace names.
std::string slots_of(const std::filesystem::path& trace) {
  std::ifstream file(trace);
  std::string word, slots;
  for (int count = 0; count < 8; ++count) file >> word;  // # sluice routing trace: layers experts top_k slots
  return word;
}

class Replay : public testing::TestWithParam<const char*> {};

TEST_P(Replay, MissesWhatTheRunMissed) {
  const TempDir scratch;
  const std::filesystem::path model = demo_model(GetParam());
  const Bounds bounds = memory_bounds(model, {"--prefill-chunk", "4", "--speculate", "off"});
  for (const int part : {0, 1, 2, 3, 6, 8}) {
    SCOPED_TRACE(part);
    const std::string trace = (scratch / "run.trace").string(), json_file = (scratch / "replay.json").string();
    const Generated run = generated(model, kHotRequest + Arguments{"--prefill-chunk", "4", "--trace", trace, "--memory",
                                                                   std::to_string(bounds.between(part, 8))});
    const Outcome replay =
        sluice({"trace", "replay", trace, "--slots", slots_of(trace), "--policy", "default", "--json", json_file});
    ASSERT_EQ(replay.exit_code, 0) << replay.err;
    const Json entry = report(json_file).at(0);
    EXPECT_EQ(entry.at("requests"), run.report.at("experts").at("requests"));
    EXPECT_EQ(entry.at("hits"), run.report.at("experts").at("hits"));
    EXPECT_LT(entry.at("decode_requests"), entry.at("requests"));  // the prompt is in it
    EXPECT_GT(entry.at("decode_requests"), 5 * 3 * 10);
    EXPECT_TRUE(part < 6 || entry.at("hits") > 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Replay, testing::ValuesIn(kFamilies), family_name);

TEST(Trace, TracingChangesNothing) {
  const TempDir scratch;
  const std::string trace = (scratch / "run.trace").string();
  EXPECT_EQ(generated(demo_model(), kHotRequest + Arguments{"--trace", trace}).answer(),
            generated(demo_model(), kHotRequest).answer());
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string without_comments(const std::string& trace) {
  std::istringstream text(trace);
  std::string lines;
  for (std::string line; std::getline(text, line);)
    if (!line.starts_with('#')) lines += line + '\n';
  return lines;
}

// tools/trace/plot_replay.py, where there is a Python to run it.
TEST(Trace, ThePlotOfWhatIsNoReplayIsRefusedInOneSentence) {
  const std::filesystem::path python = "/usr/bin/python3";
  if (!std::filesystem::exists(python)) GTEST_SKIP() << "there is no " << python;
  const TempDir scratch;
  const std::string plot = (scratch / "plot.svg").string(), other = (scratch / "other.json").string();
  const std::string tool = SLUICE_SOURCE_DIR "/tools/trace/plot_replay.py";
  std::ofstream(other) << "[{\"policy\": \"lru\"}]";
  for (const std::string& path : {(scratch / "nosuch").string(), other, tool}) {
    const Outcome outcome = run_program(python, {tool, path, plot});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.err.find(path), 0u) << outcome.err;
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  }
  EXPECT_FALSE(std::filesystem::exists(plot));
}

class Prediction : public testing::TestWithParam<const char*> {};

// Routers that are asked before their time change no token, no request and nothing of the trace but its comments.
TEST_P(Prediction, ChangesNothing) {
  const TempDir scratch;
  const std::string plain = (scratch / "plain.trace").string(), asked = (scratch / "asked.trace").string();
  const auto& [model, prompt] = subject(GetParam());
  const Arguments request = prompt + Arguments{"--max-tokens", "16", "--temperature", "1", "--seed", "3"};
  EXPECT_EQ(generated(model, request + Arguments{"--trace", asked, "--predict"}).answer(),
            generated(model, request + Arguments{"--trace", plain}).answer());
  EXPECT_EQ(without_comments(bytes_of(asked)), without_comments(bytes_of(plain)));
  EXPECT_EQ(bytes_of(plain).find("foreseen"), std::string::npos);
  EXPECT_NE(bytes_of(asked).find("# foreseen attention"), std::string::npos);
  const auto replayed = [](const std::string& trace) {
    return sluice({"trace", "replay", trace, "--slots", "30"}).out;
  };
  EXPECT_EQ(replayed(asked), replayed(plain));
}

// On the tokens of tests/golden/foresight.json, which the float64 oracle wrote, the same names come true, in every
// layer.
TEST_P(Prediction, NamesWhomTheOracleNames) {
  const TempDir scratch;
  const std::string trace = (scratch / "run.trace").string(), json_file = (scratch / "report.json").string();
  const Json golden = Json::parse(std::ifstream(SLUICE_SOURCE_DIR "/tests/golden/foresight.json")).at(GetParam());
  for (const Json& text : golden) {
    std::string ids;
    for (const int id : text.at("prompt")) ids += (ids.empty() ? "" : ",") + std::to_string(id);
    const Generated run =
        generated(demo_model(GetParam()), {"--ids", ids, "--max-tokens", "48", "--trace", trace, "--predict"});
    ASSERT_EQ(run.report.at("ids"), text.at("ids"));
    const Outcome outcome = sluice({"trace", "report", trace, "--json", json_file});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("before its time"), std::string::npos);
    const Json found = report(json_file).at("foreseen");
    ASSERT_EQ(found.size(), 2u);
    for (const Json& moment : found) {
      Json layers = Json::object(), sum = Json::object();
      for (Json layer : moment.at("layers")) {
        const std::string number = std::to_string(layer.at("layer").get<int>());
        layer.erase("layer");
        for (const auto& [name, count] : layer.items()) sum[name] = sum.value(name, 0) + count.get<int>();
        layers[number] = layer;
      }
      EXPECT_EQ(layers, text.at(moment.at("before").get<std::string>()));
      for (const auto& [name, count] : sum.items()) EXPECT_EQ(moment.at(name), count) << name;
    }
  }
}

// Nor does reading what they name: only which experts are in memory, and when.
TEST_P(Prediction, ActedUponChangesNoAnswer) {
  const std::filesystem::path model = demo_model(GetParam());
  const std::uint64_t memory = memory_bounds(model, {"--speculate", "off"}).between(4, 8);
  const Arguments request = kHotRequest + Arguments{"--speculate", "off", "--preload", "off",
                                                    "--usage",     "off", "--memory",  std::to_string(memory)};
  const Generated plain = generated(model, request + Arguments{"--read-ahead", "certain"});
  const Generated ahead = generated(model, request + Arguments{"--read-ahead", "predicted"});
  EXPECT_EQ(ahead.answer(), plain.answer());
  EXPECT_EQ(plain.report.at("experts").at("expected"), 0);
  const int expected = ahead.report.at("experts").at("expected"),
            rightly = ahead.report.at("experts").at("expected_rightly");
  EXPECT_GT(rightly, 0);
  EXPECT_LE(rightly, expected);
}

INSTANTIATE_TEST_SUITE_P(Families, Prediction, testing::ValuesIn(kFamilies), family_name);

TEST(Trace, ReplayComparesAllPoliciesAtAllCapacities) {
  const TempDir scratch;
  const std::string trace = SLUICE_SOURCE_DIR "/tests/traces/gpt_oss_head.trace";
  const Outcome outcome = sluice({"trace", "replay", trace, "--capacity", "250M,1.5G", "--json", "-"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json list = Json::parse(outcome.out);
  ASSERT_TRUE(list.is_array());
  std::map<std::string, std::map<std::uint64_t, std::uint64_t>> hits;
  for (const Json& entry : list) {
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
  const Json found = report(json_file);
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
           {{"trace", "report", demo}, 1},
           {{"trace", "replay", trace, "--capacity", "lots"}, 1},
           {{"trace", "replay", trace, "--policy", "clairvoyant"}, 2},
           {{"trace", "replay", trace, "--slots", "0"}, 2},
           {{"trace"}, 2},
           {{"run", demo, "--prompt", "a", "--trace", "/nowhere/a.trace"}, 1},
           {{"run", demo, "--prompt", "a", "--predict"}, 2},
           {{"run", demo, "--prompt", "a", "--read-ahead", "everything"}, 1},
           {{"run", demo, "--prompt", "a", "--trace", "/tmp/a.trace", "--recompute"}, 2}}) {
    const Outcome outcome = sluice(arguments);
    EXPECT_TRUE(outcome.exit_code == exit_code || (exit_code == 1 && outcome.exit_code == 2)) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find("sluice: "), std::string::npos);
  }
}

}  // namespace
}  // namespace sluice::test
