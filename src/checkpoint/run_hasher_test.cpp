// Sums of runs that were hashed piece by piece are those of their bytes, whatever the pieces and however runs overlap.
#include "checkpoint/run_hasher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "checkpoint/checksums.h"
#include "support/memory_files.h"

namespace sluice {
namespace {

constexpr int kFiles = 3;
constexpr std::uint64_t kFileBytes = 5000;

std::vector<FileRun> random_runs(std::mt19937_64& random) {
  std::vector<FileRun> runs;
  for (int run = 0; run < 60; ++run) {
    const int file = static_cast<int>(random() % kFiles);
    const std::uint64_t offset = random() % kFileBytes;
    const std::uint64_t most = random() % 4 == 0 ? kFileBytes : 50;
    runs.push_back({file, offset, 1 + random() % std::min(most, kFileBytes - offset)});
  }
  runs.push_back({2, 0, kFileBytes});
  std::ranges::sort(runs, [](const FileRun& left, const FileRun& right) { return left < right; });
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  return runs;
}

TEST(RunHasher, EqualsOneSumOfAllBytes) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const std::vector<FileRun> runs = random_runs(random);
    std::vector<std::vector<std::byte>> files;
    for (int file = 0; file < kFiles; ++file) files.push_back(test::random_bytes(kFileBytes, seed * 10 + files.size()));
    RunHasher hasher(runs);
    std::vector<FileRun> lost;
    for (int file = 0; file < kFiles; ++file)
      for (std::uint64_t offset = 0; offset < kFileBytes;) {
        const std::uint64_t count = std::min(1 + random() % 700, kFileBytes - offset);
        const bool fails = seed % 2 == 0 && random() % 8 == 0;
        if (fails) lost.push_back({file, offset, count});
        hasher.feed(file, offset, count, fails ? nullptr : files[static_cast<std::size_t>(file)].data() + offset);
        offset += count;
      }
    for (std::size_t run = 0; run < runs.size(); ++run) {
      const FileRun& mine = runs[run];
      const bool whole = std::ranges::none_of(lost, [&](const FileRun& other) {
        return other.file == mine.file && other.offset < mine.offset + mine.bytes &&
               mine.offset < other.offset + other.bytes;
      });
      ASSERT_EQ(hasher.is_whole(run), whole);
      if (!whole) continue;
      EXPECT_EQ(hasher.sum(run),
                checksum(std::span(files[static_cast<std::size_t>(mine.file)]).subspan(mine.offset, mine.bytes)));
    }
  }
}

}  // namespace
}  // namespace sluice
