// See directory_contents.h.
#include "support/directory_contents.h"

#include <fstream>
#include <iterator>

namespace sluice::test {

std::map<std::string, std::string> directory_contents(const std::filesystem::path& directory) {
  std::map<std::string, std::string> files;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    files[entry.path().filename().string()] = {std::istreambuf_iterator<char>(in), {}};
  }
  return files;
}

}  // namespace sluice::test
