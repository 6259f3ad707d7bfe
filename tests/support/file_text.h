// A file's bytes as text.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace sluice::test {

// Empty if it cannot be read.
inline std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace sluice::test
