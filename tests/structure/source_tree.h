// The repository as the structure rules see it: every path, and the text of every file that a rule reads.
//
// Made from a directory for the real check, and from a few lines of text where a test plants a violation.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::structure {

struct SourceFile {
  std::string path;                // from the root, "src/io/files.h"
  std::vector<std::string> lines;  // as written
  std::vector<std::string> code;   // the same lines with comments and string literals blanked out

  std::string at(std::size_t line) const;  // "src/io/files.h:12", line counted from 0
  bool is_cpp() const;                     // .h, .cpp, .inl or .cu
  bool is_test() const;                    // x_test.cpp, or anything under tests/
  bool in(std::string_view folder) const;  // "src/cli"
};

struct SourceTree {
  std::map<std::string, SourceFile> files;  // by path: sources, pages, build files
  std::set<std::string> paths;              // of every file and folder, without those that builds make

  void add(const std::string& path, std::string_view text);
};

SourceTree read_tree(const std::filesystem::path& root);

// The part of a path before or after its first slash, "" if there is none.
std::string_view first_part(std::string_view path);
std::string_view after_first_part(std::string_view path);

}  // namespace sluice::structure
