// The probe keeps its bounds and gives a rate that its own figures explain.
#include "io/disk_probe.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/memory_files.h"
#include "support/slow_disk.h"
#include "support/temp_dir.h"

namespace sluice {
namespace {

std::string file_of(const test::TempDir& directory, std::size_t bytes) {
  const std::string path = directory / "weights";
  const std::vector<std::byte> content = test::random_bytes(bytes, 1);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(bytes));
  return path;
}

TEST(DiskProbe, ReadsNoMoreThanItMay) {
  const test::TempDir directory;
  const std::string path = file_of(directory, 5'000'001);
  for (std::uint64_t read_bytes : {1ull, 4096ull, 100'000ull, 3'000'000ull, 1ull << 30}) {
    const auto speed = probe_disk(path, {.read_bytes = read_bytes, .depth = 3, .most_bytes = 2'000'000});
    ASSERT_TRUE(speed.has_value());
    EXPECT_GT(speed->bytes, 0u);
    EXPECT_LE(speed->bytes, std::max<std::uint64_t>(2'000'000, std::min<std::uint64_t>(read_bytes + 4096, 5'000'001)));
    EXPECT_NEAR(speed->bytes_per_second * speed->seconds, static_cast<double>(speed->bytes), 1);
  }
}

TEST(DiskProbe, StopsWhenItsTimeIsOver) {
  const test::TempDir directory;
  const auto speed = probe_disk(file_of(directory, 1 << 20), {.read_bytes = 4096, .depth = 1, .most_seconds = 0});
  ASSERT_TRUE(speed.has_value());
  EXPECT_EQ(speed->bytes, 4096u);
}

// Four reads as large as an expert's take half a minute there.
TEST(DiskProbe, ASlowDiskIsReadInSmallPieces) {
  test::MemoryFiles files(true);
  files.add(std::vector<std::byte>(std::size_t{64} << 20));
  const test::SlowDisk disk(files, 2e6);
  const auto speed = probe_disk(disk, {});
  ASSERT_TRUE(speed.has_value());
  EXPECT_LT(disk.bytes(), 3u << 20);
  EXPECT_LT(speed->read_bytes, 1u << 20);
  EXPECT_GT(speed->bytes_per_second, 0.5e6);
  EXPECT_LT(speed->bytes_per_second, 2.5e6);
}

TEST(DiskProbe, IsCancelledBetweenReads) {
  test::MemoryFiles files(true);
  files.add(std::vector<std::byte>(std::size_t{64} << 20));
  const test::SlowDisk disk(files, 20e6);
  CancelFlag cancel;
  std::thread somebody([&] {
    while (disk.bytes() == 0) std::this_thread::yield();
    cancel.request();
  });
  const auto speed = probe_disk(disk, {.depth = 2, .most_seconds = 60, .as_told = true, .cancel = &cancel});
  somebody.join();
  ASSERT_FALSE(speed.has_value());
  EXPECT_EQ(speed.error().kind, ErrorKind::cancelled);
  EXPECT_LE(disk.bytes(), std::uint64_t{20} << 20);  // not even the first two requests, of 32 MiB together
}

TEST(DiskProbe, AnEmptyFileCannotBeMeasured) {
  const test::TempDir directory;
  EXPECT_FALSE(probe_disk(file_of(directory, 0), {}).has_value());
}

}  // namespace
}  // namespace sluice
