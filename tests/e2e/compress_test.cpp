// sluice pack --compress as a user meets it: the same answers from fewer bytes, nothing but sluice's own reading of it,
// and a kill at any moment costs only time.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <random>

#include "support/at_call.h"
#include "support/directory_contents.h"
#include "support/kills.h"
#include "support/sluice_program.h"
#include "support/temp_dir.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

Json json_of(const Outcome& outcome) { return Json::parse(outcome.out); }

class CompressedAnswers : public testing::TestWithParam<const char*> {};

TEST_P(CompressedAnswers, AreThoseOfTheSource) {
  const TempDir scratch;
  const fs::path packed = scratch / "packed", plain = scratch / "plain";
  const Subject& source = subject(GetParam());
  ASSERT_EQ(sluice({"pack", source.model.string(), plain.string(), "--shard-size", "1M"}).exit_code, 0);
  const Outcome made =
      sluice({"pack", source.model.string(), packed.string(), "--compress", "--shard-size", "1M", "--json", "-"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Json told = json_of(made);
  const auto before = told.at("compressed").at("bytes_before").get<std::uint64_t>();
  const auto after = told.at("compressed").at("bytes_after").get<std::uint64_t>();
  EXPECT_LT(static_cast<double>(after), 0.72 * static_cast<double>(before));
  EXPECT_EQ(told.at("packed").at("trunk").at("payload_bytes").get<std::uint64_t>() + before,
            told.at("source").at("trunk").at("payload_bytes").get<std::uint64_t>() + after);

  const Arguments request = source.prompt + Arguments{"--max-tokens", "6"};
  const Generated wanted = generated(source.model, request);
  EXPECT_EQ(generated(packed, request).answer(), wanted.answer());
  for (const std::string& io : all_axes().io)
    for (const int budget : {0, 2}) {
      const Setting setting{.budget = budget, .threads = "2", .io = io};
      EXPECT_EQ(generated(packed, request + flags_of(setting, packed)).answer(), wanted.answer()) << setting.text();
    }
  EXPECT_EQ(sluice({"verify", packed.string()}).exit_code, 0);
}

// Where nothing can stay in memory, less is read, and the plan knows it.
TEST_P(CompressedAnswers, TakeFewerBytesAsPlanned) {
  const TempDir scratch;
  const fs::path packed = scratch / "packed", plain = scratch / "plain";
  const Subject& source = subject(GetParam());
  ASSERT_EQ(sluice({"pack", source.model.string(), plain.string()}).exit_code, 0);
  ASSERT_EQ(sluice({"pack", source.model.string(), packed.string(), "--compress"}).exit_code, 0);
  struct Read {
    double planned = 0, was = 0;
  };
  const auto read = [&](const fs::path& model) {
    const Arguments chunk = {"--prefill-chunk", "8"};
    const Arguments flags = chunk + Arguments{"--memory", std::to_string(memory_bounds(model, chunk).minimum)};
    const Json plan = json_of(sluice(Arguments{"plan", model.string(), "--json", "-"} + flags));
    const Json report = generated(model, source.prompt + Arguments{"--max-tokens", "6"} + flags).report;
    return Read{plan.at("trunk_bytes_per_token").get<double>(), report.at("bytes").at("trunk_read").get<double>()};
  };
  const Read less = read(packed), more = read(plain);
  EXPECT_LT(less.planned, 0.98 * more.planned);
  EXPECT_LT(less.was, 0.98 * more.was);
}

INSTANTIATE_TEST_SUITE_P(OfEveryFamily, CompressedAnswers, testing::ValuesIn(kFamilies), family_name);

class CompressCommand : public testing::Test {
 protected:
  CompressCommand() { synthesize("olmoe", source(), {"--layers", "2", "--experts", "4"}); }

  fs::path source() const { return scratch_ / "source"; }
  fs::path out() const { return scratch_ / "out"; }
  Outcome pack(const fs::path& to, const Arguments& more = {}) const {
    return sluice(
        Arguments{"pack", source().string(), to.string(), "--compress", "--threads", "1", "--shard-size", "300K"} +
        more);
  }

  TempDir scratch_;
};

TEST_F(CompressCommand, KilledAnywhereItGoesOn) {
  if (built_with_sanitizers()) GTEST_SKIP() << "the sanitizer must be loaded first";
  const fs::path whole = scratch_ / "whole";
  const int calls = [&] {
    const AtCall order(0, "count");
    return calls_told(pack(whole));
  }();
  ASSERT_GT(calls, 10);
  constexpr const char* kWays[] = {"kill-before", "kill-within"};
  const auto tried = [&](int call) { return call <= 2 || call >= calls - 3 || call % (calls / 6 + 1) == 0; };
  expect_to_go_on({out(), whole, calls}, kWays, tried, [&] { return pack(out()); });
}

TEST_F(CompressCommand, IsOptInAndTold) {
  ASSERT_EQ(pack(out()).exit_code, 0);
  EXPECT_NE(pack(out()).err.find("already done"), std::string::npos);
  const Outcome plain = sluice({"pack", source().string(), out().string(), "--shard-size", "300K"});
  EXPECT_EQ(plain.exit_code, 1);
  EXPECT_NE(plain.err.find("which is compressed"), std::string::npos) << plain.err;
  const Outcome dry = pack(scratch_ / "dry", {"--dry-run"});
  EXPECT_EQ(dry.exit_code, 0);
  EXPECT_FALSE(fs::exists(scratch_ / "dry"));
  const Outcome seen = sluice({"inspect", out().string()});
  EXPECT_NE(seen.out.find("bf16z"), std::string::npos) << seen.out;
}

TEST_F(CompressCommand, WhatOnlyReadsPlainWeightsSaysSo) {
  ASSERT_EQ(pack(out()).exit_code, 0);
  const std::string model = out().string(), other = (scratch_ / "other").string();
  for (const Arguments& arguments :
       {Arguments{"convert", model, other}, {"pack", model, other}, {"compare", source().string(), model}}) {
    const Outcome refused = sluice(arguments);
    EXPECT_EQ(refused.exit_code, 1) << arguments.front();
    EXPECT_NE(refused.err.find("was packed with --compress"), std::string::npos) << refused.err;
  }
  EXPECT_FALSE(fs::exists(other));
}

// Without checksums, as after a copy: a stream that is damaged in its head or table is named and never used.
TEST_F(CompressCommand, DamageIsNamed) {
  ASSERT_EQ(pack(out()).exit_code, 0);
  fs::remove(out() / "sluice.checksums");
  const std::map<std::string, std::string> contents = directory_contents(out());
  std::mt19937 random(4);
  int damaged = 0;
  for (const auto& [name, text] : contents) {
    const std::size_t at = text.find("SLUICEB3");
    if (!name.ends_with(".safetensors") || at == std::string::npos || damaged == 3) continue;
    SCOPED_TRACE(name);
    const std::size_t place = at + std::array{0u, 9u, 65u}[static_cast<std::size_t>(damaged++)];
    const auto write = [&](char byte) {
      std::fstream file(out() / name, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<std::streamoff>(place)).put(byte);
    };
    write(static_cast<char>(text[place] ^ 0x55));
    const Outcome run = sluice({"run", out().string(), "--ids", "1,2,3", "--max-tokens", "1"});
    EXPECT_EQ(run.exit_code, 4) << run.err;
    EXPECT_NE(run.err.find(".weight"), std::string::npos) << run.err;
    const Outcome verified = sluice({"verify", out().string()});
    EXPECT_EQ(verified.exit_code, 4);
    EXPECT_NE(verified.out.find(".sluice_bf16."), std::string::npos) << verified.out;
    write(text[place]);
  }
  EXPECT_EQ(damaged, 3);
  EXPECT_EQ(sluice({"verify", out().string()}).exit_code, 0);
}

}  // namespace
}  // namespace sluice::test
