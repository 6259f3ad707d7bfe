// Whole text files: what is read, and what a folder or a missing file is answered with.
#include "base/text_file.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace sluice
