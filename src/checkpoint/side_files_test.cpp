// Which files come along with the weights, and what beside them is passed over.
#include "checkpoint/side_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/must.h"
#include "support/temp_dir.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  for (const SideFile& file : test::must(side_files(directory.string()))) names.push_back(file.name);
  return names;
}

TEST(SideFiles, AreAllButWeightsConfigAndFolders) {
  const test::TempDir directory;
  for (const char* name : {"vocab.txt", "config.json", "a.safetensors", "model.safetensors.index.json", "LICENSE"})
    std::ofstream(directory / name) << "1234";
  fs::create_directory(directory / "folder");
  EXPECT_EQ(names_in(directory.path()), (std::vector<std::string>{"LICENSE", "vocab.txt"}));
  EXPECT_EQ(test::must(side_files(directory.path().string())).front().bytes, 4u);
}

// The order in which a directory lists its entries is its own, so a link that leads nowhere is once the only one and
// once one of many: one of them is the last whatever the order.
TEST(SideFiles, ALinkThatLeadsNowhereIsPassedOver) {
  const test::TempDir alone, among;
  fs::create_symlink("nowhere", alone / "link");
  EXPECT_TRUE(names_in(alone.path()).empty());
  std::ofstream(among / "vocab.txt") << "1";
  for (int link = 0; link < 20; ++link) fs::create_symlink("nowhere", among / ("link" + std::to_string(link)));
  EXPECT_EQ(names_in(among.path()), (std::vector<std::string>{"vocab.txt"}));
}

TEST(SideFiles, ADirectoryThatCannotBeListedIsAnError) {
  const test::TempDir directory;
  const auto found = side_files((directory / "nowhere").string());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::bad_input);
}

}  // namespace
}  // namespace sluice
