// Every source is formatted as .clang-format says. Skipped where clang-format 14 is not installed: other versions
// format differently.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "structure/source_tree.h"

namespace sluice::structure {
namespace {

struct Output {
  int status = -1;
  std::string text;
};

Output shell(const std::string& command) {
  Output output;
  std::FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return output;
  char buffer[4096];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe)) output.text.append(buffer, got);
  output.status = ::pclose(pipe);
  return output;
}

std::string clang_format() {
  for (const char* name : {"clang-format-14", "clang-format"})
    if (shell(std::string(name) + " --version").text.find("version 14.") != std::string::npos) return name;
  return {};
}

TEST(Format, SourcesAreFormatted) {
  const std::string program = clang_format();
  if (program.empty()) GTEST_SKIP() << "clang-format 14 is not installed (make format installs it)";
  std::string command = "cd '" SLUICE_SOURCE_DIR "' && " + program + " --dry-run -Werror";
  for (const auto& [path, file] : read_tree(SLUICE_SOURCE_DIR).files)
    if (file.is_cpp()) command += " '" + path + "'";
  const Output output = shell(command);
  EXPECT_EQ(output.status, 0) << "run make format:\n" << output.text.substr(0, 4000);
}

TEST(Format, ACrookedLineIsFound) {
  const std::string program = clang_format();
  if (program.empty()) GTEST_SKIP() << "clang-format 14 is not installed (make format installs it)";
  const std::string check =
      " | (cd '" SLUICE_SOURCE_DIR "' && " + program + " --dry-run -Werror --assume-filename=src/x.cpp)";
  EXPECT_EQ(shell("printf 'int x;\\n'" + check).status, 0);
  EXPECT_NE(shell("printf 'int   x;\\n'" + check).status, 0);
}

}  // namespace
}  // namespace sluice::structure
