// A file of checksums says what it was written with, or in one sentence why it says nothing.
#include "checkpoint/checksums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/damage.h"
#include "support/must.h"
#include "support/temp_dir.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using test::must, testing::AllOf, testing::HasSubstr;

const std::vector<FileRun> kRuns = {{0, 8, 100}, {0, 8, 200}, {0, 300, 1}, {1, 0, 5000}};
const std::vector<std::uint64_t> kSums = {11, 22, 33, ~std::uint64_t{0}};

class ChecksumsFile : public testing::Test {
 protected:
  ChecksumsFile() {
    write("a.safetensors", 400);
    write("b.safetensors", 5000);
    must(Checksums(shards(), kRuns, kSums).write(directory()));
  }

  std::string directory() const { return scratch_.path().string(); }
  fs::path file() const { return scratch_ / std::string(kChecksumsFile); }
  std::vector<std::string> shards() const { return {scratch_ / "a.safetensors", scratch_ / "b.safetensors"}; }
  void write(const std::string& name, std::size_t bytes) const {
    std::ofstream(scratch_ / name, std::ios::binary) << std::string(bytes, 'x');
  }
  std::string refusal(const std::vector<std::string>& paths) const {
    const auto read = Checksums::read(directory(), paths);
    if (read) return "none";
    EXPECT_EQ(read.error().kind, ErrorKind::corrupt);
    EXPECT_THAT(read.error().hint, HasSubstr("verify MODEL --write"));
    EXPECT_THAT(read.error().what, HasSubstr(file().string()));
    return read.error().what;
  }
  std::string refusal() const { return refusal(shards()); }

  test::TempDir scratch_;
};

TEST_F(ChecksumsFile, SaysWhatItWasWrittenWith) {
  const Checksums sums = *must(Checksums::read(directory(), shards()));
  ASSERT_EQ(sums.runs().size(), kRuns.size());
  for (std::size_t run = 0; run < kRuns.size(); ++run) {
    EXPECT_TRUE(sums.runs()[run] == kRuns[run]);
    EXPECT_EQ(sums.sum(run), kSums[run]);
    EXPECT_EQ(sums.find(kRuns[run]), run);
  }
  for (const FileRun& other : {FileRun{0, 8, 101}, FileRun{0, 9, 100}, FileRun{1, 8, 100}, FileRun{2, 0, 1}})
    EXPECT_EQ(sums.find(other), std::nullopt);
  EXPECT_GE(checksums_bytes(directory()), fs::file_size(file()));
}

TEST_F(ChecksumsFile, NoFileIsNoError) {
  fs::remove(file());
  EXPECT_EQ(must(Checksums::read(directory(), shards())), std::nullopt);
  EXPECT_EQ(checksums_bytes(directory()), 0u);
}

// Another number for each shard, and some that are not there (yet).
TEST_F(ChecksumsFile, ShardsAreKnownByTheirNames) {
  write("0.safetensors", 1);
  const std::vector<std::string> paths = {shards()[1]};
  const Checksums sums = *must(Checksums::read(directory(), paths));
  ASSERT_EQ(sums.runs().size(), 1u);
  EXPECT_EQ(sums.sum(*sums.find({0, 0, 5000})), kSums[3]);
}

TEST_F(ChecksumsFile, AnyDamageIsSeen) {
  const std::uint64_t bytes = fs::file_size(file());
  for (std::uint64_t place = 0; place < bytes; ++place) {
    test::flip_byte(file(), place);
    EXPECT_THAT(refusal(), HasSubstr("is damaged")) << place;
    test::flip_byte(file(), place);
  }
  EXPECT_EQ(refusal(), "none");
  for (const std::uint64_t left : {bytes - 1, bytes - 24, bytes / 2, std::uint64_t{9}, std::uint64_t{0}}) {
    fs::resize_file(file(), left);
    EXPECT_THAT(refusal(), HasSubstr("is damaged")) << left;
  }
  fs::remove(file());
  fs::create_directory(file());
  EXPECT_THAT(refusal(), HasSubstr("cannot be read"));
}

// Sound in itself, and not of these shards.
TEST_F(ChecksumsFile, OtherShardsAreTold) {
  write("c.safetensors", 7);
  EXPECT_THAT(refusal({shards()[0], scratch_ / "c.safetensors"}),
              AllOf(HasSubstr("belongs to other shards"), HasSubstr("c.safetensors")));
  write("b.safetensors", 4999);
  EXPECT_THAT(refusal(), AllOf(HasSubstr("is older than the shards"), HasSubstr("b.safetensors had 5000 bytes"),
                               HasSubstr("has 4999")));
}

TEST_F(ChecksumsFile, AnotherVersionIsTold) {
  std::string text;
  {
    std::ifstream in(file(), std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  text[8] = 2;
  text.resize(text.size() - 8);
  const std::uint64_t sum = checksum(std::as_bytes(std::span(text)));
  text.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  std::ofstream(file(), std::ios::binary) << text;
  EXPECT_THAT(refusal(), HasSubstr("is of version 2"));
}

TEST_F(ChecksumsFile, ABlockWithoutASumIsNamed) {
  const Checksums sums = *must(Checksums::read(directory(), shards()));
  BoundCensus bound;
  bound.specs = {{"layer 0 attention", {}}, {"layer 0 ffn", {}}};
  bound.walk.resize(2);
  bound.walk[0].extents = {{0, 8, 200, 8}, {0, 300, 1, 4396}};
  bound.walk[1].extents = {{1, 0, 5000, 0}};
  EXPECT_TRUE(sums.cover(directory(), bound));
  bound.walk[1].extents[0].bytes = 4999;
  const auto missing = sums.cover(directory(), bound);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::corrupt);
  EXPECT_THAT(missing.error().what, AllOf(HasSubstr("no checksum of layer 0 ffn"), HasSubstr(file().string())));
}

}  // namespace
}  // namespace sluice
