// Whole text files: what is read, and what a folder or a missing file is answered with.
#include "base/text_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "support/temp_dir.h"

namespace sluice {
namespace {

TEST(TextFile, GivesEveryByteOrNamesThePath) {
  const test::TempDir folder;
  const std::string bytes("a\0\r\nb", 5), path = (folder / "text").string();
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_EQ(read_text_file(path).value(), bytes);
  for (const std::string& none : {(folder / "nothing").string(), (folder / "").string()}) {
    const Result<std::string> read = read_text_file(none);
    ASSERT_FALSE(read) << none;
    EXPECT_EQ(read.error().kind, ErrorKind::bad_input);
    EXPECT_NE(read.error().what.find(none), std::string::npos) << read.error().what;
  }
}

TEST(TextFile, WhatCannotBeReadIsToldWithItsReason) {
  const test::TempDir folder;
  const std::string path = (folder / "text").string();
  const Error missing = unreadable(path, "fetch it");
  EXPECT_EQ(missing.what, "cannot read " + path + ": No such file or directory");
  EXPECT_EQ(missing.hint, "fetch it");
  EXPECT_EQ(read_text_file(folder.path().string()).error().what,
            "cannot read " + folder.path().string() + ": it is a folder");
  EXPECT_TRUE(can_list(folder.path().string()));
  EXPECT_FALSE(can_list(path));
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  std::ofstream(path) << "x";
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  EXPECT_EQ(unreadable(path, "fetch it").what, "cannot read " + path + ": Permission denied");
  EXPECT_NE(unreadable(path, "fetch it").hint.find("permissions"), std::string::npos);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0311), 0);
  EXPECT_NE(can_list(folder.path().string()).error().hint.find("permissions"), std::string::npos);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0700), 0);
}

}  // namespace
}  // namespace sluice
