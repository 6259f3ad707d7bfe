// Usage files: what was written is read back, what is not right is named and ignored, and nobody else's file is harmed.
#include "residency/usage.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

#include "support/expert_uses.h"
#include "support/file_text.h"
#include "support/random_blocks.h"
#include "support/temp_dir.h"

namespace sluice {
namespace {

using test::file_text;

const UsageOwner kOwner{"0123abcd", 3, 5};

void set_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

ExpertUsage some_usage() {
  ExpertUsage usage(3, 5);
  usage.add(0, std::vector<ExpertUse>{{1, 1}, {4, 7}});
  usage.add(2, std::vector<ExpertUse>{{0, 2}, {4, 1}});
  usage.add(2, std::vector<ExpertUse>{{0, 5}});
  return usage;
}

TEST(Usage, TheHottestComeFirst) {
  const ExpertUsage usage = some_usage();
  EXPECT_EQ(usage.hottest(100), (std::vector<ExpertKey>{{0, 4}, {2, 0}, {0, 1}, {2, 4}}));
  EXPECT_EQ(usage.hottest(2), (std::vector<ExpertKey>{{0, 4}, {2, 0}}));
  EXPECT_TRUE(ExpertUsage(3, 5).hottest(100).empty());
}

TEST(Usage, CountsFadeAndKeepTheirOrder) {
  ExpertUsage usage(1, 3);
  for (int round = 0; round < 200; ++round) usage.add(0, std::vector<ExpertUse>{{0, 1000}, {1, 700}, {2, round % 2}});
  EXPECT_EQ(usage.hottest(2), (std::vector<ExpertKey>{{0, 0}, {0, 1}}));
  EXPECT_LE(usage.counts()[0], 1u << 16);
  EXPECT_NEAR(static_cast<double>(usage.counts()[1]) / usage.counts()[0], 0.7, 0.01);
}

TEST(Usage, WhatWasWrittenIsRead) {
  const test::TempDir scratch;
  const std::string path = (scratch / "a").string() + "/b/usage";  // folders are made
  EXPECT_EQ(read_usage(path, kOwner).fate, UsageFate::absent);
  const ExpertUsage usage = some_usage();
  ASSERT_TRUE(write_usage(path, kOwner, usage).has_value());
  const ReadUsage read = read_usage(path, kOwner);
  EXPECT_EQ(read.fate, UsageFate::good) << read.refusal;
  EXPECT_TRUE(std::ranges::equal(read.usage.counts(), usage.counts()));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch / "a/b"), {}), 1);  // nothing is left beside it
}

TEST(Usage, EveryByteThatIsWrongIsNoticed) {
  const test::TempDir scratch;
  const std::string path = (scratch / "usage").string();
  ASSERT_TRUE(write_usage(path, kOwner, some_usage()).has_value());
  const std::string good = file_text(path);
  for (std::size_t place = 0; place < good.size(); ++place) {
    std::string bad = good;
    bad[place] = static_cast<char>(bad[place] ^ 4);
    set_text(path, bad);
    const ReadUsage changed = read_usage(path, kOwner);
    EXPECT_TRUE(changed.fate == UsageFate::useless || changed.fate == UsageFate::foreign) << place;
    EXPECT_NE(changed.refusal.find(path), std::string::npos);
    EXPECT_TRUE(changed.usage.empty());
    set_text(path, good.substr(0, place));
    const ReadUsage cut = read_usage(path, kOwner);
    EXPECT_TRUE(cut.fate == UsageFate::useless || cut.fate == UsageFate::foreign) << place;
    EXPECT_TRUE(cut.usage.empty());
  }
  set_text(path, good + "x");
  EXPECT_EQ(read_usage(path, kOwner).fate, UsageFate::useless);
}

// Only a file that is surely an old usage file of this place may be written over.
TEST(Usage, WhoseFileItIs) {
  const test::TempDir scratch;
  const std::string path = (scratch / "usage").string();
  ASSERT_TRUE(write_usage(path, kOwner, some_usage()).has_value());
  EXPECT_EQ(read_usage(path, {"ffff", 3, 5}).fate, UsageFate::foreign);
  EXPECT_EQ(read_usage(path, {"0123abcd", 5, 3}).fate, UsageFate::foreign);
  set_text(path, "sluice usage 0 0123abcd 3 5\nold");
  const ReadUsage old = read_usage(path, kOwner);
  EXPECT_EQ(old.fate, UsageFate::useless);
  EXPECT_NE(old.refusal.find("version"), std::string::npos);
  set_text(path, "Dear diary");
  EXPECT_EQ(read_usage(path, kOwner).fate, UsageFate::foreign);
  EXPECT_EQ(read_usage(scratch.path().string(), kOwner).fate, UsageFate::foreign);
  EXPECT_FALSE(write_usage(scratch.path().string(), kOwner, some_usage()).has_value());
  EXPECT_FALSE(write_usage("/proc/nowhere/usage", kOwner, some_usage()).has_value());
}

// A run of the first layers alone, or without the head that drafts, is of the same checkpoint: each adds what it knows.
TEST(Usage, RunsOfMoreAndOfFewerLayersShareAFile) {
  const test::TempDir scratch;
  const std::string path = (scratch / "usage").string();
  const UsageOwner fewer{kOwner.key, 2, 5}, more{kOwner.key, 4, 5};
  const ExpertUsage usage = some_usage();
  ASSERT_TRUE(write_usage(path, kOwner, usage).has_value());
  ReadUsage first = read_usage(path, fewer);
  ASSERT_EQ(first.fate, UsageFate::good) << first.refusal;
  EXPECT_EQ(first.usage.hottest(100), (std::vector<ExpertKey>{{0, 4}, {0, 1}}));
  EXPECT_EQ(first.beyond, (std::vector<std::uint32_t>{7, 0, 0, 0, 1}));
  first.usage.add(1, std::vector<ExpertUse>{{2, 9}});
  ASSERT_TRUE(write_usage(path, fewer, first.usage, first.beyond).has_value());
  const std::vector<ExpertKey> all = {{1, 2}, {0, 4}, {2, 0}, {0, 1}, {2, 4}};
  for (const UsageOwner& owner : {kOwner, more}) {
    const ReadUsage read = read_usage(path, owner);
    EXPECT_EQ(read.fate, UsageFate::good) << read.refusal;
    EXPECT_EQ(read.usage.hottest(100), all);
    EXPECT_EQ(read.usage.layers(), owner.layers);
    EXPECT_TRUE(read.beyond.empty());
  }
}

TEST(Usage, AReaderNeverSeesHalfAFile) {
  const test::TempDir scratch;
  const std::string path = (scratch / "usage").string();
  ASSERT_TRUE(write_usage(path, kOwner, some_usage()).has_value());
  std::thread reader([&] {
    for (int read = 0; read < 50; ++read) EXPECT_EQ(read_usage(path, kOwner).fate, UsageFate::good);
  });
  for (int write = 0; write < 50; ++write) EXPECT_TRUE(write_usage(path, kOwner, some_usage()).has_value());
  reader.join();
}

TEST(Usage, FetchesAreCounted) {
  test::MemoryFiles files(true);
  const std::vector<test::ScatteredBlock> blocks = test::scatter_blocks(files, 15, 600, 5);
  const ExpertTable table = test::table_of(blocks, 3, 5);
  const std::unique_ptr<ReadQueue> queue = make_pread_queue(files, 1);
  ExpertUsage usage(3, 5);
  const auto store = count_uses(make_expert_store(table, 4, make_policy("default", {3, 5, 4}), *queue), usage);
  store->hint(1, test::used_once(std::vector{2}));  // not a use
  store->fetch(1, std::vector<ExpertUse>{{2, 3}});
  store->fetch(2, std::vector<ExpertUse>{{0, 1}, {2, 1}});
  EXPECT_EQ(usage.hottest(100), (std::vector<ExpertKey>{{1, 2}, {2, 0}, {2, 2}}));
  EXPECT_EQ(usage.counts()[5 + 2], 3u);
}

}  // namespace
}  // namespace sluice
