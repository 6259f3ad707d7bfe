// Tests of tiktoken_file.h.
#include "text/tiktoken_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/must.h"
#include "support/temp_dir.h"
#include "support/tiktoken_model.h"

namespace sluice {
namespace {

Result<Vocabulary> read_lines(const std::string& lines) {
  const test::TempDir directory;
  const std::string path = directory / "tiktoken.model";
  std::ofstream(path, std::ios::binary) << lines;
  return read_tiktoken_file(path);
}

TEST(TiktokenFile, ReadsEntriesInRankOrder) {
  std::vector<std::string> entries = test::single_bytes();
  entries.insert(entries.end(), {"ab", "abc", std::string("\0\xff", 2), "\u4f60"});
  const Vocabulary read = test::must(read_lines(test::tiktoken_lines(entries)));
  ASSERT_EQ(read.size(), 260);
  for (int rank = 0; rank < read.size(); ++rank) {
    EXPECT_EQ(read.bytes(rank), entries[static_cast<std::size_t>(rank)]);
    EXPECT_EQ(read.find(entries[static_cast<std::size_t>(rank)]), rank);
  }
  EXPECT_EQ(read.find("!"), 0);  // a byte's id is not its value
  EXPECT_EQ(read.find(" "), 220);
  EXPECT_EQ(read.find("\n"), 198);
  EXPECT_EQ(read.find(std::string(1, '\0')), 188);
  EXPECT_EQ(read.find("\x7f"), 221);
}

TEST(TiktokenFile, EveryFaultIsNamedWithFileAndLine) {
  const std::string bytes = test::tiktoken_lines(test::single_bytes());
  const struct {
    const char* line;
    const char* complaint;
  } cases[] = {
      {"YWI= 257", "line 257 has rank 257 where 256 is due"},
      {"YWI= 255", "line 257 has rank 255"},
      {"YWI= -0", "no rank"},
      {"YWI= 256x", "no rank"},
      {"YWI= ", "no rank"},
      {"YWI= 99999999999999999999", "no rank"},
      {"YWI=256", "line 257 is not base64, a space and a rank"},
      {"YW*= 256", "bad base64 'YW*='"},
      {"YWI 256", "bad base64"},
      {"Y=I= 256", "bad base64"},
      {"YWJ= 256", "bad base64"},  // unused bits are set: two spellings of one entry
      {" 256", "bad base64"},
      {"IQ== 256", "line 257 repeats the entry of rank 0"},
  };
  for (const auto& [line, complaint] : cases) {
    const auto read = read_lines(bytes + line + "\n");
    ASSERT_FALSE(read) << line;
    EXPECT_EQ(read.error().kind, ErrorKind::bad_input);
    EXPECT_NE(read.error().what.find("tiktoken.model"), std::string::npos);
    EXPECT_NE(read.error().what.find(complaint), std::string::npos) << line << ": " << read.error().what;
  }
}

TEST(TiktokenFile, MissingBytesAndFilesAreNamed) {
  std::vector<std::string> entries = test::single_bytes();
  entries.erase(entries.begin() + 220);
  const auto read = read_lines(test::tiktoken_lines(entries));
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().what.find("single byte 0x20"), std::string::npos) << read.error().what;

  const auto empty = read_lines("");
  ASSERT_FALSE(empty);
  EXPECT_NE(empty.error().what.find("single byte 0x00"), std::string::npos) << empty.error().what;

  const auto absent = read_tiktoken_file("/nowhere/tiktoken.model");
  ASSERT_FALSE(absent);
  EXPECT_NE(absent.error().what.find("/nowhere/tiktoken.model"), std::string::npos);

  const auto cut = read_lines(test::tiktoken_lines(test::single_bytes()) + "YW");
  ASSERT_FALSE(cut);
}

}  // namespace
}  // namespace sluice
