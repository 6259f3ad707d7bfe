// --mirror as a user meets it: the same answer from several directories, whatever they do.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <stdexcept>

#include "support/directory_contents.h"
#include "support/failing_reads.h"
#include "support/plain_safetensors.h"
#include "support/sluice_program.h"
#include "support/temp_dir.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

// A demo with checksums, and a copy of its shards alone.
class Mirror : public testing::Test {
 protected:
  Mirror() {
    for (const fs::path& directory : {model_, copy_}) fs::create_directory(directory);
    for (const auto& entry : fs::directory_iterator(subject("deepseek-v4").model)) {
      fs::copy_file(entry.path(), model_ / entry.path().filename());
      if (entry.path().extension() != ".safetensors") continue;
      shards_.push_back(entry.path().filename().string());
      fs::copy_file(entry.path(), copy_ / shards_.back());
    }
    EXPECT_EQ(sluice({"verify", model_.string(), "--write"}).exit_code, 0);
  }
  std::string copy() const { return copy_.string(); }
  // At the smallest budget, so that everything is read for every token.
  Arguments tight() const {
    const std::uint64_t least = memory_bounds(model_, {"--mirror", copy()}).minimum;
    return {"--ids", "5,6,7,5,9,11", "--max-tokens", "12", "--memory", std::to_string(least)};
  }
  void change(const std::string& shard, std::uint64_t place) const {
    std::fstream file(copy_ / shard, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(place));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(place));
    file.put(static_cast<char>(byte ^ 1));
    ASSERT_TRUE(file.good());
  }
  void expect_refused(const Arguments& flags, int exit_code, const std::vector<std::string>& words) const {
    const Outcome outcome = sluice(Arguments{"run", model_.string(), "--ids", "5", "--max-tokens", "1"} + flags);
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    for (const std::string& word : words)
      EXPECT_NE(outcome.err.find(word), std::string::npos) << "does not tell of " << word << ":\n" << outcome.err;
  }

  TempDir scratch_;
  const fs::path model_ = scratch_ / "model", copy_ = scratch_ / "copy";
  std::vector<std::string> shards_;
};

TEST_F(Mirror, TheAnswerIsTheSameAndBothAreRead) {
  const std::string expected = generated(model_, tight()).answer();
  for (const char* engine : {"threads", "auto"}) {
    const Generated mirrored = generated(model_, tight() + Arguments{"--mirror", copy(), "--io-engine", engine});
    EXPECT_EQ(mirrored.answer(), expected);
    const auto& directories = mirrored.report["io"]["directories"];
    ASSERT_EQ(directories.size(), 2u);
    EXPECT_EQ(directories[0]["directory"], model_.string());
    EXPECT_EQ(directories[1]["directory"], copy());
    for (const auto& one : directories) {
      EXPECT_GT(one["bytes_read"], 0) << directories.dump();
      EXPECT_EQ(one["failures"], 0);
    }
    EXPECT_NE(mirrored.outcome.err.find("from " + copy()), std::string::npos) << mirrored.outcome.err;
  }
}

// How many reads opening takes depends on the drive's speed, which is measured then: a copy that fails already there is
// refused, and a later failure is tried.
TEST_F(Mirror, ADriveThatBreaksInTheMiddleChangesNoToken) {
  const std::string expected = generated(model_, tight()).answer();
  const Arguments request = tight() + Arguments{"--mirror", copy(), "--io-engine", "threads"};
  std::optional<Generated> mirrored;
  for (const int from : {130, 170, 220, 280, 350}) {
    const FailingReads order(copy(), from, "fail");
    try {
      mirrored = generated(model_, request);
    } catch (const std::runtime_error&) {
      continue;
    }
    EXPECT_EQ(mirrored->answer(), expected) << "failing from read " << from;
    if (mirrored->report["io"]["directories"][1]["bytes_read"] > 0) break;
  }
  ASSERT_TRUE(mirrored);
  const auto& broken = mirrored->report["io"]["directories"][1];
  EXPECT_GT(broken["bytes_read"], 0);
  EXPECT_GE(broken["failures"], 3);
  EXPECT_EQ(broken["taken_out"], true);
  const std::string warning = "warning: the mirror " + copy();
  const std::size_t told = mirrored->outcome.err.find(warning);
  ASSERT_NE(told, std::string::npos) << mirrored->outcome.err;
  EXPECT_EQ(mirrored->outcome.err.find(warning, told + 1), std::string::npos);
  EXPECT_NE(mirrored->outcome.err.find("not read any more", told), std::string::npos);
}

TEST_F(Mirror, AShardThatDiffersIsRefusedByName) {
  change(shards_.back(), 100);  // in its header
  expect_refused({"--mirror", copy()}, 4, {shards_.back(), "differs", "byte 100", "--mirror"});
  change(shards_.back(), 100);
  const std::uint64_t end = fs::file_size(copy_ / shards_.back());
  change(shards_.back(), end - 1);  // the end is looked at
  expect_refused({"--mirror", copy()}, 4, {shards_.back(), fmt::format("byte {}", end - 1)});
  change(shards_.back(), end - 1);
  fs::resize_file(copy_ / shards_.front(), fs::file_size(copy_ / shards_.front()) - 1);
  expect_refused({"--mirror", copy()}, 4, {shards_.front(), "bytes"});
  fs::remove(copy_ / shards_.front());
  expect_refused({"--mirror", copy()}, 4, {"has no", shards_.front()});
}

TEST_F(Mirror, WhatIsNoMirrorIsRefused) {
  expect_refused({"--mirror", (scratch_ / "nowhere").string()}, 1, {"there is no directory", "nowhere"});
  expect_refused({"--mirror", model_.string()}, 1, {"itself"});
  expect_refused({"--mirror", copy(), "--mirror", copy()}, 1, {copy(), "is named twice"});
  const std::string other = (scratch_ / "other").string();
  fs::create_directory_symlink(copy_, other);
  expect_refused({"--mirror", copy(), "--mirror", other}, 1, {other, copy(), "itself"});
  expect_refused({"--io-engine", "horse"}, 2, {"horse"});
  fs::remove(model_ / "sluice.checksums");
  expect_refused({"--mirror", copy()}, 1, {"no checksums", "verify", "--write"});
}

// A number like any other, where nothing is sampled: checksums find it, and the copy is not read any more.
TEST_F(Mirror, AChangedWeightIsReadFromTheOriginal) {
  const std::string expected = generated(model_, tight()).answer();
  int changed = 0;
  for (const auto& [name, tensor] : read_plain_checkpoint(model_)) {
    if (name.find(".attn.") == std::string::npos || tensor.bytes < 4000 || changed == 4) continue;
    const std::string shard = tensor.file.filename().string();
    change(shard, tensor.offset + tensor.bytes / 2);
    if (sluice({"plan", model_.string(), "--mirror", copy(), "--json", "-"}).exit_code == 0)
      ++changed;
    else  // this place is looked at when it is opened
      change(shard, tensor.offset + tensor.bytes / 2);
  }
  ASSERT_EQ(changed, 4);
  const Generated mirrored = generated(model_, tight() + Arguments{"--mirror", copy()});
  EXPECT_EQ(mirrored.answer(), expected);
  const auto& directories = mirrored.report["io"]["directories"];
  EXPECT_EQ(directories[1]["taken_out"], true) << directories.dump();
  EXPECT_EQ(directories[0]["taken_out"], false);
  const std::string warning = "warning: the mirror " + copy() +
                              " is not read any more: what it brought is not what the checkpoint holds: " + copy() +
                              "/";  // its own file
  EXPECT_NE(mirrored.outcome.err.find(warning), std::string::npos) << mirrored.outcome.err;
}

TEST_F(Mirror, PlanAndDoctorTellOfIt) {
  const Outcome plan = sluice({"plan", model_.string(), "--mirror", copy(), "--json", "-"});
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  const auto json = nlohmann::json::parse(plan.out);
  ASSERT_EQ(json["directories"].size(), 2u);
  double share = 0;
  for (const auto& one : json["directories"]) share += one["share"].get<double>();
  EXPECT_NEAR(share, 1, 1e-9);
  EXPECT_EQ(json["directories"][1]["directory"], copy());
  const Outcome text = sluice({"plan", model_.string(), "--mirror", copy()});
  EXPECT_NE(text.out.find("% from " + copy()), std::string::npos) << text.out;
  const Outcome doctor = sluice({"doctor", model_.string(), "--mirror", copy()});
  EXPECT_NE(doctor.out.find("mirror"), std::string::npos) << doctor.out;
  EXPECT_NE(doctor.out.find(copy()), std::string::npos) << doctor.out;
  change(shards_.front(), 50);
  EXPECT_EQ(sluice({"doctor", model_.string(), "--mirror", copy()}).exit_code, 4);
}

}  // namespace
}  // namespace sluice::test
