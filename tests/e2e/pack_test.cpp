// sluice pack as a user meets it: the same answers from fewer reads, nothing overwritten, and a kill at any moment
// costs only time.
#include <gtest/gtest.h>

#include <fstream>

#include "support/at_call.h"
#include "support/directory_contents.h"
#include "support/kills.h"
#include "support/sluice_program.h"
#include "support/temp_dir.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

class PackedAnswers : public testing::TestWithParam<const char*> {};

TEST_P(PackedAnswers, AreThoseOfTheSource) {
  const TempDir scratch;
  const fs::path packed = scratch / "packed";
  const Subject& source = subject(GetParam());
  const Outcome made = sluice({"pack", source.model.string(), packed.string(), "--shard-size", "1M", "--json", "-"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const nlohmann::json told = nlohmann::json::parse(made.out);
  for (const char* part : {"trunk", "experts"}) {
    SCOPED_TRACE(part);
    const nlohmann::json &was = told.at("source").at(part), &is = told.at("packed").at(part);
    EXPECT_EQ(is.at("payload_bytes"), was.at("payload_bytes"));
    EXPECT_LE(is.at("reads"), was.at("reads"));
    EXPECT_LT(is.at("page_bytes"), was.at("page_bytes"));
  }
  EXPECT_LT(told.at("packed").at("trunk").at("reads"), told.at("source").at("trunk").at("reads"));

  const Arguments request = source.prompt + Arguments{"--max-tokens", "6"};
  const std::string expected = generated(source.model, request).answer();
  EXPECT_EQ(generated(packed, request).answer(), expected);
  for (const std::string& io : all_axes().io) {
    const Setting tight{.budget = 0, .io = io};
    EXPECT_EQ(generated(packed, request + flags_of(tight, packed)).answer(), expected) << tight.text();
  }
  EXPECT_EQ(sluice({"verify", packed.string()}).exit_code, 0);
}

INSTANTIATE_TEST_SUITE_P(OfEveryFamily, PackedAnswers, testing::ValuesIn(kFamilies), family_name);

class PackCommand : public testing::Test {
 protected:
  PackCommand() { synthesize("deepseek-v4", source(), {"--layers", "3", "--experts", "4"}); }

  fs::path source() const { return scratch_ / "source"; }
  fs::path out() const { return scratch_ / "out"; }
  Outcome pack(const fs::path& to, const Arguments& more = {}) const {
    return sluice(Arguments{"pack", source().string(), to.string(), "--threads", "1", "--shard-size", "300K"} + more);
  }

  TempDir scratch_;
};

TEST_F(PackCommand, KilledAnywhereItGoesOn) {
  if (built_with_sanitizers()) GTEST_SKIP() << "the sanitizer must be loaded first";
  const fs::path whole = scratch_ / "whole";
  const int calls = [&] {
    const AtCall order(0, "count");
    return calls_told(pack(whole));
  }();
  ASSERT_GT(calls, 40);
  constexpr const char* kWays[] = {"kill-before", "kill-within", "kill-after"};
  const auto tried = [&](int call) { return call <= 4 || call >= calls - 6 || call % (calls / 8) == 0; };
  expect_to_go_on({out(), whole, calls}, kWays, tried, [&] { return pack(out()); });
}

TEST_F(PackCommand, NothingIsOverwritten) {
  ASSERT_EQ(pack(out()).exit_code, 0);
  const auto made = directory_contents(out());
  const Outcome again = pack(out());
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_NE(again.err.find("already done"), std::string::npos) << again.err;
  const Outcome other = sluice({"pack", demo_model().string(), out().string()});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_NE(other.err.find("holds a packed checkpoint already, which is of another source"), std::string::npos)
      << other.err;
  EXPECT_EQ(sluice({"pack", source().string(), source().string()}).exit_code, 1);
  EXPECT_TRUE(directory_contents(out()) == made);
}

TEST_F(PackCommand, ADryRunTellsSizesAndWritesNothing) {
  const Outcome dry = pack(out(), {"--dry-run", "--json", "-"});
  ASSERT_EQ(dry.exit_code, 0) << dry.err;
  EXPECT_FALSE(fs::exists(out()));
  ASSERT_EQ(pack(out()).exit_code, 0);
  std::uint64_t bytes = 0;
  for (const auto& [name, text] : directory_contents(out()))
    if (name.ends_with(".safetensors")) bytes += text.size();
  EXPECT_EQ(nlohmann::json::parse(dry.out).at("bytes"), bytes);
}

// A pack of a pack is the same files; a conversion of it no longer says that it is packed.
TEST_F(PackCommand, APackIsACheckpointLikeAnyOther) {
  const fs::path twice = scratch_ / "twice", smaller = scratch_ / "smaller";
  ASSERT_EQ(pack(out()).exit_code, 0);
  ASSERT_EQ(sluice({"pack", out().string(), twice.string(), "--shard-size", "300K"}).exit_code, 0);
  auto once = directory_contents(out()), again = directory_contents(twice);
  EXPECT_NE(once.at("config.json"), again.at("config.json"));  // each names its source
  once.erase("config.json"), again.erase("config.json");
  EXPECT_TRUE(once == again);
  const Outcome converted = sluice({"convert", out().string(), smaller.string()});
  ASSERT_EQ(converted.exit_code, 0) << converted.err;
  const auto config = nlohmann::json::parse(directory_contents(smaller).at("config.json"));
  EXPECT_TRUE(config.contains("sluice_conversion"));
  EXPECT_FALSE(config.contains("sluice_pack"));
}

}  // namespace
}  // namespace sluice::test
