// See output_directory.h.
#include "checkpoint/output_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "base/units.h"
#include "io/output_file.h"

namespace sluice {

namespace {

namespace fs = std::filesystem;

constexpr const char* kAnother = "choose one in a folder that may be written";
constexpr const char* kBegun = "config.json.unfinished.part";  // left by a writer that was killed at its first step

std::optional<std::string> text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// Nothing is there, or nothing but the traces of a beginning.
bool is_empty(const fs::path& path) {
  std::error_code failed;
  if (!fs::exists(path, failed)) return !failed;
  if (!fs::is_directory(path, failed)) return false;
  for (fs::directory_iterator entry(path, failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed))
    if (entry->path().filename() != kBegun) return false;
  return !failed;
}

}  // namespace

OutputDirectory::OutputDirectory(std::string path, std::string config)
    : path_(std::move(path)), config_(std::move(config)) {}

OutputDirectory::~OutputDirectory() {
  if (hold_ >= 0) ::close(hold_);
}

std::string OutputDirectory::file(std::string_view name) const { return (fs::path(path_) / name).string(); }

OutputDirectory::State OutputDirectory::look() const {
  if (is_empty(path_)) return State::empty;
  if (const auto config = text_of(file(kConfigFile))) return *config == config_ ? State::finished : State::foreign;
  return text_of(file(kUnfinishedConfig)) == config_ ? State::unfinished : State::foreign;
}

std::string OutputDirectory::other_config() const {
  auto text = text_of(file(kConfigFile));
  if (!text) text = text_of(file(kUnfinishedConfig));
  return text.value_or("");
}

Result<> OutputDirectory::check_room(std::uint64_t bytes) const {
  fs::path there = fs::absolute(path_);
  std::error_code failed;
  while (!fs::exists(there, failed) && there.has_parent_path() && there.parent_path() != there)
    there = there.parent_path();
  const fs::space_info space = fs::space(there, failed);
  if (failed || space.available >= bytes) return {};
  return fail(
      ErrorKind::bad_input,
      fmt::format("{}: needs {} and the disk has {} free", path_, format_bytes(bytes), format_bytes(space.available)),
      "free some space, or choose another disk");
}

Result<> OutputDirectory::begin() {
  std::error_code failed;
  fs::create_directories(path_, failed);
  if (failed)
    return fail(ErrorKind::bad_input, fmt::format("{}: cannot use this directory: {}", path_, failed.message()),
                kAnother);
  hold_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (hold_ < 0)
    return fail(ErrorKind::bad_input,
                fmt::format("{}: cannot use this directory: {}", path_, std::generic_category().message(errno)),
                kAnother);
  if (::flock(hold_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return fail(ErrorKind::bad_input, fmt::format("{}: another program is writing there", path_), "wait until it ends");
  // What was seen before the lock may be another writer's beginning.
  const State now = look();
  if (now == State::unfinished) return {};
  if (now != State::empty)
    return fail(ErrorKind::bad_input, fmt::format("{}: another program has written there", path_), "start again");
  return write_text_file(file(kUnfinishedConfig), config_);
}

Result<> OutputDirectory::finish() {
  ::fsync(hold_);  // the names of all the others before this one's
  std::error_code failed;
  fs::rename(file(kUnfinishedConfig), file(kConfigFile), failed);
  if (failed) return fail(ErrorKind::io, fmt::format("{}: {}", file(kConfigFile), failed.message()));
  ::fsync(hold_);
  return {};
}

bool OutputDirectory::holds(std::string_view name, std::uint64_t bytes) const {
  std::error_code failed;
  return fs::file_size(file(name), failed) == bytes && !failed;
}

}  // namespace sluice
