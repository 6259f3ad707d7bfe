// See text_file.h.
#include "base/text_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace sluice {

Result<std::string> read_text_file(const std::string& path) {
  std::error_code ignored;
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, ignored))  // a folder opens, and throws when it is read
    return fail(ErrorKind::bad_input, fmt::format("cannot read {}", path));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace sluice
