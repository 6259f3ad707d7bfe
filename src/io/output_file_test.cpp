// A file appears complete or not at all, and a disk that cannot take it is named at once.
#include "io/output_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/temp_dir.h"

namespace sluice {
namespace {

TEST(OutputFile, AppearsOnCommitOnly) {
  const test::TempDir dir;
  auto file = OutputFile::create(dir / "x", 6);
  ASSERT_TRUE(file.has_value());
  EXPECT_TRUE((*file)->write_at(3, std::as_bytes(std::span("def", 3))).has_value());
  EXPECT_TRUE((*file)->write_at(0, std::as_bytes(std::span("abc", 3))).has_value());
  EXPECT_FALSE(std::filesystem::exists(dir / "x"));
  ASSERT_TRUE((*file)->commit().has_value());
  std::ifstream in(dir / "x", std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "abcdef");
  file->reset();
  EXPECT_TRUE(std::filesystem::exists(dir / "x"));
  EXPECT_FALSE(std::filesystem::exists(dir / "x.part"));
}

TEST(OutputFile, GivenUpLeavesNothing) {
  const test::TempDir dir;
  { auto file = OutputFile::create(dir / "x", 4096); }
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(OutputFile, NamesTheFileThatCannotBeMade) {
  const test::TempDir dir;
  const auto file = OutputFile::create(dir / "no/such/x", 1);
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error().kind, ErrorKind::bad_input);
  EXPECT_NE(file.error().what.find("no/such/x"), std::string::npos);
}

// Far more than any disk of a test machine has: the reservation must fail, not the millionth write.
TEST(OutputFile, AFullDiskIsFoundBeforeTheWork) {
  const test::TempDir dir;
  const auto space = std::filesystem::space(dir.path());
  const auto file = OutputFile::create(dir / "x", space.available + (std::uint64_t{1} << 40));
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error().kind, ErrorKind::bad_input);
  EXPECT_NE(file.error().what.find("x: cannot write"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

}  // namespace
}  // namespace sluice
