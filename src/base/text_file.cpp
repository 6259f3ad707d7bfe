// See text_file.h.
#include "base/text_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace sluice {

namespace {

constexpr const char* kLetRead = "let this user read it: look at its permissions, and at those of the folders above it";

}  // namespace

Result<std::string> read_text_file(const std::string& path) {
  std::error_code ignored;
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, ignored))  // a folder opens, and throws when it is read
    return tl::unexpected<Error>(unreadable(path));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Error unreadable(const std::string& path, std::string otherwise, ErrorKind kind) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  const int refusal = ::access(path.c_str(), R_OK) == 0 ? 0 : errno;
  std::string why = "it cannot be opened";
  if (refusal != 0) why = std::generic_category().message(refusal);
  if (folder) why = "it is a folder";
  return {kind, fmt::format("cannot read {}: {}", path, why),
          !folder && refusal == EACCES ? std::string(kLetRead) : std::move(otherwise)};
}

Result<> can_list(const std::string& folder) {
  std::error_code refusal;
  const std::filesystem::directory_iterator names(folder, refusal);
  if (!refusal) return {};
  return fail(ErrorKind::bad_input, fmt::format("cannot list {}: {}", folder, refusal.message()),
              refusal == std::errc::permission_denied ? kLetRead : "");
}

}  // namespace sluice
