// Writing a random checkpoint: repeatable, resumable, and careful with what is there already.
#include "checkpoint/synth.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "support/damage.h"
#include "support/must.h"
#include "support/plain_safetensors.h"
#include "support/temp_dir.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

SynthCheckpoint small_checkpoint(std::uint64_t seed = 3) {
  SynthCheckpoint checkpoint;
  checkpoint.seed = seed;
  checkpoint.config = "{\"model_type\": \"test\", \"seed\": " + std::to_string(seed) + "}\n";
  checkpoint.texts.push_back({"notes.txt", "hello\n"});
  for (const char* name : {"first", "second", "third"})
    checkpoint.shards.push_back({{{std::string(name) + ".w", Dtype::bf16, {300, 7}}, {ValueKind::around_zero, 1.0}},
                                 {{std::string(name) + ".s", Dtype::u8, {3'000'000}}, {ValueKind::e2m1_codes}},
                                 {{std::string(name) + ".a", Dtype::f32, {5}}, {ValueKind::ramp, 0, 4, 5}}});
  return checkpoint;
}

Result<SynthOutcome> write(const SynthCheckpoint& checkpoint, const fs::path& directory, SynthRun run = {}) {
  run.durability = Durability::cached;
  return write_synth(checkpoint, directory.string(), run, [](std::uint64_t, std::uint64_t) {});
}

std::map<std::string, std::string> contents(const fs::path& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(directory)) {
    std::ifstream in(entry.path(), std::ios::binary);
    files[entry.path().filename().string()] = std::string(std::istreambuf_iterator<char>(in), {});
  }
  return files;
}

TEST(Synth, SameSeedSameBytesWhateverTheThreads) {
  const test::TempDir dir;
  EXPECT_EQ(test::must(write(small_checkpoint(), dir / "a")), SynthOutcome::written);
  EXPECT_EQ(test::must(write(small_checkpoint(), dir / "b", {.threads = 4})), SynthOutcome::written);
  EXPECT_EQ(test::must(write(small_checkpoint(4), dir / "c")), SynthOutcome::written);
  const auto a = contents(dir / "a");
  EXPECT_EQ(a.size(), 6u);  // three shards, index, config, notes
  EXPECT_TRUE(a == contents(dir / "b"));
  EXPECT_FALSE(a.at("model-00001-of-000003.safetensors") ==
               contents(dir / "c").at("model-00001-of-000003.safetensors"));
  EXPECT_EQ(test::read_plain_checkpoint(dir / "a").size(), 9u);
}

TEST(Synth, AFinishedOneIsLeftAlone) {
  const test::TempDir dir;
  test::must(write(small_checkpoint(), dir / "a"));
  const auto before = fs::last_write_time(dir / "a/model-00001-of-000003.safetensors");
  EXPECT_EQ(test::must(write(small_checkpoint(), dir / "a")), SynthOutcome::already_there);
  EXPECT_EQ(fs::last_write_time(dir / "a/model-00001-of-000003.safetensors"), before);
}

TEST(Synth, NothingElseIsOverwritten) {
  const test::TempDir dir;
  test::must(write(small_checkpoint(), dir / "other"));
  fs::create_directory(dir / "files");
  std::ofstream(dir / "files/precious.txt") << "keep";
  std::ofstream(dir / "file") << "keep";
  for (const char* name : {"other", "files", "file"}) {
    const auto outcome = write(small_checkpoint(9), dir / name);
    ASSERT_FALSE(outcome.has_value()) << name;
    EXPECT_EQ(outcome.error().kind, ErrorKind::bad_input);
    EXPECT_NE(outcome.error().what.find(name), std::string::npos);
  }
  EXPECT_EQ(contents(dir / "files").size(), 1u);
}

TEST(Synth, AStoppedOneHasNoConfigAndGoesOn) {
  const test::TempDir dir;
  test::must(write(small_checkpoint(), dir / "whole"));
  CancelFlag cancel;
  const SynthRun run{.durability = Durability::cached, .cancel = &cancel};
  const auto stop_in_second = [&](std::uint64_t done, std::uint64_t) {
    if (done > 4'000'000) cancel.request();
  };
  const auto outcome = write_synth(small_checkpoint(), (dir / "a").string(), run, stop_in_second);
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().kind, ErrorKind::cancelled);
  EXPECT_FALSE(fs::exists(dir / "a/config.json"));
  EXPECT_TRUE(fs::exists(dir / "a/model-00001-of-000003.safetensors"));
  EXPECT_FALSE(fs::exists(dir / "a/model-00003-of-000003.safetensors"));

  EXPECT_FALSE(write(small_checkpoint(9), dir / "a").has_value());  // another seed must not be mixed in
  const auto before = fs::last_write_time(dir / "a/model-00001-of-000003.safetensors");
  EXPECT_EQ(test::must(write(small_checkpoint(), dir / "a")), SynthOutcome::written);
  EXPECT_EQ(fs::last_write_time(dir / "a/model-00001-of-000003.safetensors"), before);
  EXPECT_TRUE(contents(dir / "a") == contents(dir / "whole"));
}

TEST(Synth, SaysUpFrontThatTheDiskIsTooSmall) {
  const test::TempDir dir;
  SynthCheckpoint huge = small_checkpoint();
  huge.shards.push_back({{{"huge", Dtype::u8, {std::uint64_t{1} << 55}}, {ValueKind::e2m1_codes}}});
  const auto outcome = write(huge, dir / "a");
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().kind, ErrorKind::bad_input);
  EXPECT_NE(outcome.error().what.find("needs 32.0 PiB"), std::string::npos) << outcome.error().what;
  EXPECT_TRUE(fs::is_empty(dir / "a"));
}

TEST(Synth, ProgressRisesToTheTotal) {
  const test::TempDir dir;
  std::uint64_t last = 0, total = 0;
  const auto progress = [&](std::uint64_t done, std::uint64_t all) {
    EXPECT_GT(done, last);
    last = done;
    total = all;
  };
  test::must(write_synth(small_checkpoint(), (dir / "a").string(), {.durability = Durability::cached}, progress));
  EXPECT_EQ(last, total);
  std::uint64_t on_disk = 0;
  for (const fs::path& shard : test::shards_of(dir / "a")) on_disk += fs::file_size(shard);
  EXPECT_EQ(total, on_disk);
}

}  // namespace
}  // namespace sluice
