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

namespace sluice {
namespace {

std::string part_path(const std::string& path) { return path + ".part"; }

tl::unexpected<Error> write_error(const std::string& path, std::uint64_t bytes, int code) {
  const std::string why = std::generic_category().message(code);
  std::string hint;
  if (code == ENOSPC || code == EDQUOT)
    hint = fmt::format("This file needs {}; free space or choose another disk.", format_bytes(bytes));
  if (code == EFBIG) hint = "The file system does not allow files of this size.";
  return fail(ErrorKind::io, fmt::format("{}: cannot write: {}", path, why), hint);
}

}  // namespace

OutputFile::OutputFile(std::string path, int descriptor, std::uint64_t bytes)
    : path_(std::move(path)), descriptor_(descriptor), bytes_(bytes) {}

Result<std::unique_ptr<OutputFile>> OutputFile::create(const std::string& path, std::uint64_t bytes) {
  // Asked first: some file systems reserve all they have before they find that it is not enough.
  struct statvfs disk {};
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (::statvfs(folder.empty() ? "." : folder.c_str(), &disk) == 0 &&
      bytes / disk.f_frsize > static_cast<std::uint64_t>(disk.f_bavail))
    return write_error(path, bytes, ENOSPC);
  const int descriptor = ::open(part_path(path).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) return write_error(path, bytes, errno);
  std::unique_ptr<OutputFile> file(new OutputFile(path, descriptor, bytes));
  if (bytes == 0) return file;
  if (::fallocate(descriptor, 0, 0, static_cast<off_t>(bytes)) == 0) return file;
  if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINTR) return write_error(path, bytes, errno);
  if (::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) return write_error(path, bytes, errno);
  return file;
}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(part_path(path_).c_str());
}

Result<> OutputFile::write_at(std::uint64_t offset, std::span<const std::byte> piece) {
  SLUICE_CHECK(offset <= bytes_ && piece.size() <= bytes_ - offset);
  while (!piece.empty()) {
    const ssize_t written = ::pwrite(descriptor_, piece.data(), piece.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return write_error(path_, bytes_, written < 0 ? errno : EIO);
    piece = piece.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return {};
}

Result<> OutputFile::commit(Durability durability) {
  if (durability == Durability::synced && ::fsync(descriptor_) != 0) return write_error(path_, bytes_, errno);
  if (::close(std::exchange(descriptor_, -1)) != 0 || std::rename(part_path(path_).c_str(), path_.c_str()) != 0) {
    const int code = errno;
    ::unlink(part_path(path_).c_str());
    return write_error(path_, bytes_, code);
  }
  return {};
}

Result<> write_text_file(const std::string& path, std::string_view text) {
  TRY_TAKE(std::unique_ptr<OutputFile> file, OutputFile::create(path, text.size()));
  TRY(file->write_at(0, std::as_bytes(std::span(text))));
  return file->commit(OutputFile::Durability::synced);
}

}  // namespace sluice
