// sluice bench kernels beside an earlier run.
#include <gtest/gtest.h>

#include <fstream>

#include "support/sluice_program.h"
#include "support/temp_dir.h"

namespace sluice::test {
namespace {

using Json = nlohmann::json;

TEST(BenchKernels, ComparesWithAnEarlierRun) {
  const TempDir scratch;
  const std::string before = (scratch / "before.json").string(), now = (scratch / "now.json").string();
  const auto entry = [](const char* isa, int outs) {
    return Json{{"format", "mxfp4"},       {"isa", isa},         {"rows", 1}, {"shape", {outs, 3584}},
                {"bandwidth_ratio", 0.25}, {"peak_ratio", 0.125}};
  };
  // Only the second is the same kernel on the same shape.
  std::ofstream(before) << Json{{"entries", {entry("scalar", 64), entry("scalar", 3072), entry("avx2", 3072)}}};
  const Outcome outcome = sluice({"bench", "kernels", "--format", "mxfp4", "--isa", "scalar", "--numerics", "both",
                                  "--compare", before, "--json", now});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json entries = Json::parse(std::ifstream(now)).at("entries");
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].at("earlier_ratio"), 0.25);
  EXPECT_GT(entries[0].at("bandwidth_ratio"), 0);
  EXPECT_EQ(entries[0].at("numerics"), "exact");
  EXPECT_LT(entries[0].at("rel_error"), 1e-5);
  EXPECT_FALSE(entries[0].contains("against_exact"));
  EXPECT_EQ(entries[1].at("numerics"), "fast");
  EXPECT_FALSE(entries[1].contains("earlier_ratio"));  // another kernel, though of the same shape
  EXPECT_GT(entries[1].at("against_exact"), 0);
  EXPECT_LT(entries[1].at("rel_error"), 0.1);
  EXPECT_NE(outcome.out.find("    0.25 "), std::string::npos) << outcome.out;
}

TEST(BenchKernels, RefusesAnotherFile) {
  const TempDir scratch;
  const std::string file = (scratch / "file").string();
  for (const char* text : {"", "[]", R"({"entries": 1})", R"({"entries": [{"format": "bf16"}]})"}) {
    std::ofstream(file) << text;
    const Outcome outcome = sluice({"bench", "kernels", "--compare", file});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_NE(outcome.err.find(file), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace sluice::test
