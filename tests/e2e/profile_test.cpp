// What a run tells of itself. --profile: a file that Perfetto opens, whose spans lie within each other and account for
// the reads of the report. The report: the speed of the disk.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "support/sluice_program.h"

namespace sluice::test {
namespace {

using Json = nlohmann::json;

constexpr int kTokens = 6;

struct Span {
  double begin, end;
};

// A track may hold spans within spans, none that cross: Perfetto drops those. Begin and length are rounded to a
// thousandth of a microsecond.
void expect_nested(std::vector<Span> spans) {
  std::ranges::sort(spans, [](const Span& left, const Span& right) {
    return left.begin != right.begin ? left.begin < right.begin : left.end > right.end;
  });
  std::vector<Span> around;
  for (const Span& span : spans) {
    while (!around.empty() && around.back().end <= span.begin + 0.002) around.pop_back();
    const double limit = around.empty() ? span.end : around.back().end + 0.002;
    EXPECT_LE(span.end, limit) << "crosses what begins at " << span.begin;
    around.push_back(span);
  }
}

TEST(Report, SetsWhatTheDiskGaveBesideWhatItCanGive) {
  const Bounds bounds = memory_bounds(demo_model());
  const Arguments request = {"--ids", "5,6,7", "--temperature", "100", "--speculate", "off", "--json", "-"};
  const Arguments little = {"run", demo_model().string(), "--memory", std::to_string(bounds.minimum)};
  const Outcome long_run = sluice(little + request + Arguments{"--max-tokens", "40"});
  const Json io = Json::parse(long_run.out).at("io");
  EXPECT_GT(io.at("ceiling_bytes_per_s").get<double>(), 1e6);
  EXPECT_NE(long_run.err.find("of that were reached"), std::string::npos) << long_run.err;
  // A few tokens say little about a disk, and are not kept waiting for it.
  const Outcome short_run = sluice(little + request + Arguments{"--max-tokens", "2"});
  EXPECT_FALSE(Json::parse(short_run.out).at("io").contains("ceiling_bytes_per_s"));
  EXPECT_EQ(short_run.err.find("of that were reached"), std::string::npos) << short_run.err;
}

TEST(Profile, SpansNestAndReadsAddUp) {
  const TempDir scratch;
  const std::string path = (scratch / "profile.json").string();
  const Bounds bounds = memory_bounds(demo_model());
  // Hot enough that the text does not end early.
  const Arguments request = {"--ids",         "5,6,7",   "--max-tokens", std::to_string(kTokens),
                             "--temperature", "100",     "--io",         "buffered",
                             "--read-ahead",  "certain", "--memory",     std::to_string(bounds.between(1, 8))};
  const Generated run = generated(demo_model(), request + Arguments{"--profile", path});
  EXPECT_EQ(run.answer(), generated(demo_model(), request).answer());

  std::ifstream file(path);
  const Json events = Json::parse(file).at("traceEvents");
  std::map<std::string, std::vector<Span>> spans;  // by category
  std::map<int, std::vector<Span>> tracks;
  std::uint64_t bytes = 0;
  for (const Json& event : events) {
    if (event.at("ph") != "X") continue;
    const std::string category = event.at("cat");
    const double begin = event.at("ts"), length = event.at("dur");
    EXPECT_GE(begin, 0);
    spans[category].push_back({begin, begin + length});
    tracks[event.at("tid")].push_back(spans[category].back());
    EXPECT_EQ(category == "read", event.at("tid") != 0) << event;
    if (category == "read") bytes += event.at("args").at("bytes").get<std::uint64_t>();
  }
  for (const auto& [track, all] : tracks) expect_nested(all);
  EXPECT_EQ(spans["pass"].size(), std::size_t{kTokens});  // the prompt is one, and each token but the last
  EXPECT_EQ(spans["step"].size() % kTokens, 0u);
  EXPECT_GT(spans["wait"].size(), 0u);
  for (const char* within : {"step", "wait"})
    for (const Span& inner : spans[within]) {
      int around = 0;
      for (const Span& pass : spans["pass"]) around += pass.begin <= inner.begin && inner.end <= pass.end ? 1 : 0;
      EXPECT_EQ(around, 1) << within << " from " << inner.begin;
    }
  std::uint64_t reported = 0;
  for (const auto& [part, count] : run.report.at("bytes").items()) reported += count.get<std::uint64_t>();
  EXPECT_LE(bytes, reported);
  EXPECT_GT(bytes, reported - reported / 8);  // what was still under way in the end is left out
}

TEST(Profile, AFileThatCannotBeWrittenIsRefusedBeforeTheModelIsRead) {
  const Outcome outcome = sluice({"run", demo_model(), "--ids", "5", "--profile", "/nowhere/profile.json"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("--profile: cannot write /nowhere/profile.json"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace sluice::test
