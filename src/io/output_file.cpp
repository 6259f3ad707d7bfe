// See output_file.h.
#include "io/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/units.h"
#include "io/extent.h"

namespace sluice {
namespace {

// Below this the page cache is quicker than waiting for the disk piece by piece.
constexpr std::uint64_t kDirectFrom = std::uint64_t{16} << 20;

std::string part_path(const std::string& path) { return path + ".part"; }

tl::unexpected<Error> write_error(const std::string& path, std::uint64_t bytes, int code) {
  const std::string why = std::generic_category().message(code);
  std::string hint;
  if (code == ENOSPC || code == EDQUOT)
    hint = fmt::format("This file needs {}; free space or choose another disk.", format_bytes(bytes));
  if (code == EFBIG)
    hint = fmt::format("This file needs {}, more than the file system or a limit (ulimit -f) allows.",
                       format_bytes(bytes));
  if (code == EACCES || code == EPERM || code == EROFS) hint = "Choose a folder that may be written.";
  return fail(ErrorKind::bad_input, fmt::format("{}: cannot write: {}", path, why), hint);
}

}  // namespace

OutputFile::OutputFile(std::string path, std::uint64_t bytes, Durability durability)
    : path_(std::move(path)), bytes_(bytes), durability_(durability) {}

Result<std::unique_ptr<OutputFile>> OutputFile::create(const std::string& path, std::uint64_t bytes,
                                                       Durability durability) {
  // Asked first: some file systems reserve all they have before they find that it is not enough.
  struct statvfs disk {};
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (::statvfs(folder.empty() ? "." : folder.c_str(), &disk) == 0 &&
      bytes / disk.f_frsize > static_cast<std::uint64_t>(disk.f_bavail))
    return write_error(path, bytes, ENOSPC);
  std::unique_ptr<OutputFile> file(new OutputFile(path, bytes, durability));
  file->buffered_ = ::open(part_path(path).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file->buffered_ < 0) return write_error(path, bytes, errno);
  if (bytes == 0) return file;
  if (::fallocate(file->buffered_, 0, 0, static_cast<off_t>(bytes)) != 0) {
    if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINTR) return write_error(path, bytes, errno);
    if (::ftruncate(file->buffered_, static_cast<off_t>(bytes)) != 0) return write_error(path, bytes, errno);
  }
  if (durability == Durability::synced && bytes >= kDirectFrom)
    file->direct_ = ::open(part_path(path).c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC);  // -1: not on this file system
  return file;
}

OutputFile::~OutputFile() {
  if (direct_ >= 0) ::close(direct_);
  if (buffered_ < 0) return;
  ::close(buffered_);
  ::unlink(part_path(path_).c_str());
}

Result<> OutputFile::write_at(std::uint64_t offset, std::span<const std::byte> piece) {
  SLUICE_CHECK(offset <= bytes_ && piece.size() <= bytes_ - offset);
  const bool pages = (offset | reinterpret_cast<std::uintptr_t>(piece.data())) % kDiskPage == 0;
  const std::size_t direct = direct_ >= 0 && pages ? page_floor(piece.size()) : 0;
  TRY(write_all(direct_, offset, piece.first(direct)));
  return write_all(buffered_, offset + direct, piece.subspan(direct));
}

Result<> OutputFile::write_all(int descriptor, std::uint64_t offset, std::span<const std::byte> piece) {
  while (!piece.empty()) {
    const ssize_t written = ::pwrite(descriptor, piece.data(), piece.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EINVAL && descriptor == direct_) {  // a disk with larger pages than ours
      descriptor = buffered_;
      continue;
    }
    if (written <= 0) return write_error(path_, bytes_, written < 0 ? errno : EIO);
    piece = piece.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
    // A direct write that was cut short goes on from a place that may not be a page's.
    if (descriptor == direct_ && offset % kDiskPage != 0) descriptor = buffered_;
  }
  return {};
}

Result<> OutputFile::commit() {
  if (durability_ == Durability::synced && ::fsync(buffered_) != 0) return write_error(path_, bytes_, errno);
  if (std::rename(part_path(path_).c_str(), path_.c_str()) != 0) return write_error(path_, bytes_, errno);
  if (::close(std::exchange(buffered_, -1)) != 0) return write_error(path_, bytes_, errno);
  return {};
}

Result<> write_text_file(const std::string& path, std::string_view text) {
  TRY_TAKE(std::unique_ptr<OutputFile> file, OutputFile::create(path, text.size()));
  TRY(file->write_at(0, std::as_bytes(std::span(text))));
  return file->commit();
}

Result<> replace_text_file(const std::string& path, std::string_view text) {
  std::error_code problem;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, problem);
  const std::string mine = fmt::format("{}.{}", path, ::getpid());
  {
    TRY_TAKE(const std::unique_ptr<OutputFile> file, OutputFile::create(mine, text.size(), Durability::cached));
    TRY(file->write_at(0, std::as_bytes(std::span(text))));
    TRY(file->commit());
  }
  std::error_code refused;
  std::filesystem::rename(mine, path, refused);
  if (!refused) return {};
  std::filesystem::remove(mine, problem);
  return fail(ErrorKind::bad_input, fmt::format("{}: cannot be written: {}", path, refused.message()));
}

}  // namespace sluice
