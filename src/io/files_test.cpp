// Files on this machine's real file systems: every mode gives the same bytes.
#include "io/files.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "io/aligned.h"
#include "io/extent.h"
#include "support/memory_files.h"
#include "support/temp_dir.h"

namespace sluice {
namespace {

void write_file(const std::filesystem::path& path, const std::vector<std::byte>& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

// Reads a whole file by single attempts, as an aligned reader would.
std::vector<std::byte> read_all(const Files& files, int file) {
  const PageArena page(kDiskPage);
  std::vector<std::byte> all;
  while (true) {
    const auto got = files.read_some(file, all.size(), page.slice(0, kDiskPage));
    EXPECT_TRUE(got.has_value());
    if (!got || *got == 0) return all;
    all.insert(all.end(), page.data(), page.data() + *got);
    if (*got < kDiskPage) return all;
  }
}

void expect_same_bytes_in_every_mode(const std::filesystem::path& directory) {
  const std::vector<std::vector<std::byte>> contents = {
      test::random_bytes(3 * kDiskPage + 17, 1), test::random_bytes(kDiskPage, 2), {}};
  std::vector<std::string> paths;
  for (const auto& bytes : contents) {
    paths.push_back(directory / std::to_string(paths.size()));
    write_file(paths.back(), bytes);
  }
  for (IoMode mode : {IoMode::automatic, IoMode::buffered, IoMode::drop}) {
    const auto files = open_files(paths, mode);
    ASSERT_TRUE(files.has_value());
    ASSERT_EQ((*files)->count(), 3);
    for (int file = 0; file < 3; ++file) {
      const auto& bytes = contents[static_cast<std::size_t>(file)];
      EXPECT_EQ((*files)->size(file), bytes.size());
      EXPECT_EQ((*files)->path(file), paths[static_cast<std::size_t>(file)]);
      EXPECT_EQ(read_all(**files, file), bytes);
      EXPECT_TRUE(mode == IoMode::automatic || !(*files)->aligned_only(file));
    }
  }
  // Direct either works or says what to do instead.
  const auto direct = open_files(paths, IoMode::direct);
  if (direct) {
    EXPECT_TRUE((*direct)->aligned_only(0));
    EXPECT_EQ(read_all(**direct, 0), contents[0]);
  } else {
    EXPECT_EQ(direct.error().kind, ErrorKind::unsupported);
    EXPECT_NE(direct.error().hint.find("--io"), std::string::npos);
  }
}

TEST(Files, EveryModeGivesTheSameBytes) {
  const test::TempDir directory;
  expect_same_bytes_in_every_mode(directory.path());
}

TEST(Files, EveryModeGivesTheSameBytesOnTmpfs) {
  const std::filesystem::path directory = "/dev/shm/sluice-files-test-" + std::to_string(::getpid());
  std::error_code problem;
  std::filesystem::create_directories(directory, problem);
  if (problem) GTEST_SKIP() << "no /dev/shm to write to";
  expect_same_bytes_in_every_mode(directory);
  std::filesystem::remove_all(directory);
}

TEST(Files, AutomaticModeFallsBackWhereDirectReadsAreRefused) {
  // procfs has no direct reads.
  const auto direct = open_files({"/proc/self/status"}, IoMode::direct);
  ASSERT_FALSE(direct.has_value());
  EXPECT_NE(direct.error().what.find("/proc/self/status"), std::string::npos);
  const auto files = open_files({"/proc/self/status"}, IoMode::automatic);
  ASSERT_TRUE(files.has_value());
  EXPECT_FALSE((*files)->aligned_only(0));
}

TEST(Files, RefusesWhatIsNotAFile) {
  const test::TempDir directory;
  for (const std::string& path : {(directory / "absent").string(), directory.path().string()}) {
    const auto files = open_files({path}, IoMode::automatic);
    ASSERT_FALSE(files.has_value());
    EXPECT_EQ(files.error().kind, ErrorKind::io);
    EXPECT_NE(files.error().what.find(path), std::string::npos);
  }
}

}  // namespace
}  // namespace sluice
