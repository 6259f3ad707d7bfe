// What `sluice doctor` finds, and that each thing that is broken comes with its exit code and a way out.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/damage.h"
#include "support/sluice_program.h"
#include "support/temp_dir.h"

namespace sluice::test {
namespace {

nlohmann::json findings_of(const Outcome& outcome) { return nlohmann::json::parse(outcome.out); }

TEST(Doctor, LooksAtTheMachineAndTheModel) {
  const Outcome outcome = sluice({"doctor", demo_model().string(), "--json", "-"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  std::vector<std::string> looked_at;
  for (const nlohmann::json& finding : findings_of(outcome)) {
    looked_at.push_back(finding.at("what"));
    EXPECT_NE(finding.at("health"), "broken");
    EXPECT_NE(finding.at("text"), "");
    EXPECT_TRUE(finding.at("health") == "good" || finding.at("fix") != "") << finding;
  }
  const std::vector<std::string> expected = {"processor", "memory",  "huge pages", "memory nodes", "reading", "config",
                                             "tokenizer", "weights", "checksums",  "disk",         "budget"};
  EXPECT_EQ(looked_at, expected);
}

TEST(Doctor, NeedsNoModel) {
  const Outcome outcome = sluice({"doctor"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("kernels"), std::string::npos) << outcome.out;
}

TEST(Doctor, TellsWhatChecksumsCover) {
  const TempDir scratch;
  const std::string model = (scratch / "model").string();
  copy_checkpoint(demo_model(), model);
  const Outcome without = sluice({"doctor", model});
  EXPECT_NE(without.out.find("checksums     none"), std::string::npos) << without.out;
  ASSERT_EQ(sluice({"verify", model, "--write"}).exit_code, 0);
  const Outcome with = sluice({"doctor", model});
  EXPECT_EQ(with.exit_code, 0) << with.err;
  EXPECT_NE(with.out.find("checksums     of every block"), std::string::npos) << with.out;
  std::filesystem::resize_file(std::filesystem::path(model) / "sluice.checksums", 100);
  const Outcome damaged = sluice({"doctor", model});
  EXPECT_EQ(damaged.exit_code, 4) << damaged.err;
  EXPECT_NE(damaged.out.find("broken  checksums"), std::string::npos) << damaged.out;
}

TEST(Doctor, NamesWhatIsBroken) {
  const TempDir scratch;
  const Outcome absent = sluice({"doctor", (scratch / "nothing").string()});
  EXPECT_EQ(absent.exit_code, 1);
  EXPECT_NE(absent.out.find("broken  config"), std::string::npos) << absent.out;

  copy_checkpoint(demo_model(), scratch / "short");
  for (const auto& entry : std::filesystem::directory_iterator(scratch / "short"))
    if (entry.path().extension() == ".safetensors")
      std::filesystem::resize_file(entry.path(), std::filesystem::file_size(entry.path()) / 2);
  const Outcome cut = sluice({"doctor", (scratch / "short").string()});
  EXPECT_EQ(cut.exit_code, 4) << cut.err;
  EXPECT_NE(cut.out.find("broken  weights"), std::string::npos) << cut.out;

  const Outcome small = sluice({"doctor", demo_model().string(), "--memory", "1M"});
  EXPECT_EQ(small.exit_code, 3);
  EXPECT_NE(small.err.find("minimum"), std::string::npos) << small.err;
}

}  // namespace
}  // namespace sluice::test
