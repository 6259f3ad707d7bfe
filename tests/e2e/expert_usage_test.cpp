// --usage: what is known of earlier runs changes when experts are read and never a token; a file that is not right is
// one sentence.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <stdexcept>
#include <thread>

#include "support/file_text.h"
#include "support/served.h"
#include "support/sluice_program.h"

namespace sluice::test {
namespace {

const Arguments kShortRequest = {"--prompt", "One two three four", "--max-tokens", "12"};

void set_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}
Arguments with_usage(const std::filesystem::path& file) { return {"--usage", file.string()}; }

TEST(ExpertUsage, NoFileWhateverItHoldsChangesAToken) {
  const TempDir scratch;
  const std::filesystem::path file = scratch / "usage";
  const Bounds bounds = memory_bounds(demo_model());
  for (const int part : {1, 3, 8}) {
    SCOPED_TRACE(part);
    std::filesystem::remove(file);
    const Arguments request =
        kShortRequest + Arguments{"--read-ahead", "certain", "--memory", std::to_string(bounds.between(part, 8))};
    const Generated unknown = generated(demo_model(), request + Arguments{"--usage", "off"});
    const std::string expected = unknown.answer();
    EXPECT_EQ(generated(demo_model(), request + with_usage(file)).answer(), expected);
    const std::string good = file_text(file);
    ASSERT_FALSE(good.empty());
    const Generated again = generated(demo_model(), request + with_usage(file));
    EXPECT_EQ(again.answer(), expected);
    EXPECT_EQ(again.outcome.err.find("--usage"), std::string::npos) << again.outcome.err;
    EXPECT_NE(file_text(file), good);  // counted on
    const auto hits = [](const Generated& run) { return run.report.at("experts").at("hits").get<int>(); };
    EXPECT_TRUE(part == 8 || hits(again) > hits(unknown));  // the same request, and what it uses is known
    for (const std::string& bad : {good.substr(0, good.size() - 5), good.substr(0, good.size() / 2) + good,
                                   std::string("sluice usage 0 x\n"), std::string("notes of mine"), std::string()}) {
      set_text(file, bad);
      const Generated run = generated(demo_model(), request + with_usage(file));
      EXPECT_EQ(run.answer(), expected);
      const std::size_t told = run.outcome.err.find("--usage: " + file.string());
      ASSERT_NE(told, std::string::npos) << run.outcome.err;
      EXPECT_EQ(run.outcome.err.find("--usage", told + 1), std::string::npos) << run.outcome.err;
      if (bad == "notes of mine")
        EXPECT_EQ(file_text(file), bad);  // not ours to write over
      else
        EXPECT_EQ(file_text(file).size(), good.size());
    }
  }
}

TEST(ExpertUsage, AFileOfAnotherCheckpointIsLeftAlone) {
  const TempDir scratch;
  synthesize("olmoe", scratch / "model", {"--layers", "2"});
  const std::filesystem::path file = scratch / "usage";
  generated(demo_model(), kShortRequest + with_usage(file));
  const std::string before = file_text(file);
  const Generated run =
      generated(scratch / "model", Arguments{"--ids", "1,2,3", "--max-tokens", "2"} + with_usage(file));
  EXPECT_NE(run.outcome.err.find("belongs to another checkpoint"), std::string::npos) << run.outcome.err;
  EXPECT_EQ(file_text(file), before);
}

// Of a server for one sequence: so much memory beyond the least keeps some of the weights.
Arguments with_room(int mib) {
  const Arguments slots = {"--slots", "1", "--context", "512"};
  const Outcome refusal = sluice(Arguments{"serve", demo_model().string(), "--memory", "1M"} + slots);
  std::smatch least;
  if (!std::regex_search(refusal.err, least, std::regex("--memory ([0-9]+)M"))) throw std::runtime_error(refusal.err);
  return slots + Arguments{"--memory", std::to_string(std::stoi(least[1]) + mib) + "M"};
}
std::string answer_of(const Served& server) {
  const auto reply = server.posted("/v1/completions",
                                   R"({"model":"x","prompt":"One two three four","max_tokens":12,"temperature":0})");
  return reply.at("choices").at(0).at("text");
}

// With room for some experts only, a server that nobody asks reads those that were used most, and then rests.
TEST(ExpertUsage, AServerBeginsWithTheHottestExperts) {
  const TempDir scratch;
  const std::filesystem::path file = scratch / "usage";
  const std::string expected = generated(demo_model(), kShortRequest + with_usage(file)).report.at("text");
  const std::string read = "sluice_read_bytes_total{what=\"experts\"}";
  for (const bool known : {true, false}) {
    const Served server(with_room(4) + (known ? with_usage(file) : Arguments{"--preload", "off"}));
    double before = 0;
    for (int wait = 0; wait < 60 && (known ? before <= 0 || server.metric(read) > before : wait < 3); ++wait) {
      before = server.metric(read);
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    EXPECT_EQ(before > 0, known);
    EXPECT_EQ(answer_of(server), expected);
  }
}

// What history says was used most is pinned from the start: other experts stay in memory, the tokens are the same.
TEST(ExpertUsage, PinsBeginWithTheHottestExperts) {
  const TempDir scratch;
  const std::filesystem::path file = scratch / "usage";
  const Bounds bounds = memory_bounds(demo_model());
  const Generated plain = generated(demo_model(), kShortRequest + with_usage(file));
  EXPECT_EQ(plain.report.at("experts").at("pinned"), 0);
  for (const int part : {4, 5}) {
    SCOPED_TRACE(part);
    const Arguments request = kShortRequest + with_usage(file) +
                              Arguments{"--pin-experts", "50", "--memory", std::to_string(bounds.between(part, 8))};
    const Generated run = generated(demo_model(), request);
    EXPECT_EQ(run.answer(), plain.answer());
    const auto& experts = run.report.at("experts");
    EXPECT_GT(experts.at("pinned"), 0);
    EXPECT_LE(experts.at("pinned"), run.report.at("memory").at("expert_slots").get<int>() / 2);
    EXPECT_GT(experts.at("pinned_hits"), 0);
    EXPECT_LE(experts.at("pinned_hits"), experts.at("hits"));
    EXPECT_NE(run.outcome.err.find("experts pinned: "), std::string::npos) << run.outcome.err;
    const Generated cold = generated(demo_model(), request + Arguments{"--preload", "off"});
    EXPECT_EQ(cold.answer(), plain.answer());
    EXPECT_EQ(cold.report.at("experts").at("pinned_hits"), 0);  // nothing is known before the first turn has ended
  }
}

// Where nothing is known before, what a request has used is pinned when it has ended.
TEST(ExpertUsage, AServerPinsBetweenRequests) {
  const Served server(with_room(7) + Arguments{"--pin-experts", "50", "--preload", "off", "--usage", "off"});
  const std::string pinned = "sluice_experts_pinned", hits = "sluice_expert_pinned_hits_total";
  EXPECT_EQ(server.metric(pinned), 0);
  const std::string expected = generated(demo_model(), kShortRequest).report.at("text");
  EXPECT_EQ(answer_of(server), expected);
  for (int wait = 0; wait < 100 && server.metric(pinned) == 0; ++wait)  // the answer is there before the count is
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_GT(server.metric(pinned), 0);
  EXPECT_EQ(server.metric(hits), 0);
  EXPECT_EQ(answer_of(server), expected);
  for (int wait = 0; wait < 100 && server.metric(hits) == 0; ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_GT(server.metric(hits), 0);
}

TEST(ExpertUsage, ARunThatIsTracedReadsNothingAheadOfNeed) {
  const TempDir scratch;
  const std::filesystem::path file = scratch / "usage";
  generated(demo_model(), kShortRequest + with_usage(file));
  const Generated run =
      generated(demo_model(), kShortRequest + with_usage(file) + Arguments{"--trace", (scratch / "trace").string()});
  EXPECT_EQ(run.report.at("bytes").at("experts_preloaded"), 0);
  const Generated off = generated(demo_model(), kShortRequest + with_usage(file) + Arguments{"--preload", "off"});
  EXPECT_EQ(off.report.at("bytes").at("experts_preloaded"), 0);
}

// The head that drafts has experts of its own, and a run without it is of the same checkpoint.
TEST(ExpertUsage, RunsWithAndWithoutAHeadShareAFile) {
  const TempDir scratch;
  const Arguments request = Arguments{"--prompt", "The river", "--max-tokens", "2"} + with_usage(scratch / "usage");
  std::string before;
  for (const char* speculate : {"off", "mtp", "off"}) {
    const Generated run = generated(demo_model("glm-5.2"), request + Arguments{"--speculate", speculate});
    EXPECT_EQ(run.outcome.err.find("--usage"), std::string::npos) << run.outcome.err;
    const std::string counts = file_text(scratch / "usage");
    EXPECT_NE(counts, before);
    EXPECT_GE(counts.size(), before.size());
    before = counts;
  }
}

}  // namespace
}  // namespace sluice::test
