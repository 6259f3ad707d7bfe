// See output_paths.h.
#include "cli/output_paths.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

namespace sluice::cli {

namespace {

namespace fs = std::filesystem;

// A file that replaces another as a whole (--save-session) needs the folder; one that is overwritten (--json, which may
// be a pipe as well) or appended to (--history) needs the file.
constexpr struct {
  const char* flag;
  bool replaces;
} kWrittenLast[] = {{"--json", false}, {"--history", false}, {"--save-session", true}};

// 0, or what writing would fail with.
int refusal(const fs::path& path, bool replaces) {
  std::error_code failed;
  if (fs::is_directory(path, failed)) return EISDIR;
  if (!replaces && fs::exists(path, failed)) return ::access(path.c_str(), W_OK) == 0 ? 0 : errno;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return errno;
  return fs::is_directory(folder, failed) ? 0 : ENOTDIR;
}

// In the directory OUT of commands that make one (convert, pack).
bool in_what_is_made(const CLI::App& command, const fs::path& path) {
  const CLI::Option* const out = command.get_option_no_throw("OUT");
  if (out == nullptr || out->count() == 0) return false;
  return (path.parent_path() / "").lexically_normal() == (fs::path(out->as<std::string>()) / "").lexically_normal();
}

}  // namespace

Result<> check_output_paths(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  for (const auto& [flag, replaces] : kWrittenLast) {
    const CLI::Option* const option = command->get_option_no_throw(flag);
    if (option == nullptr || option->count() == 0) continue;
    const std::string path = option->as<std::string>();
    if (path.empty() || (path == "-" && !replaces) || in_what_is_made(*command, path)) continue;
    if (const int code = refusal(path, replaces); code != 0)
      return fail(ErrorKind::bad_input,
                  fmt::format("{}: cannot write {}: {}", flag, path, std::generic_category().message(code)),
                  "check that the folder exists and may be written");
  }
  return {};
}

}  // namespace sluice::cli
