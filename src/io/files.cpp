// POSIX files. See files.h.
//
// Whether a file system takes O_DIRECT is found out by reading one page, once per device: some accept the flag at open
// and refuse the read.
#include "io/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/text_file.h"
#include "io/aligned.h"
#include "io/extent.h"

namespace sluice {

namespace {

class Descriptor {  // move-only
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

Descriptor open_descriptor(const std::string& path, int flags) {
  int fd = -1;
  do fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  while (fd < 0 && errno == EINTR);
  return Descriptor(fd);
}

struct File {
  std::string path;
  std::uint64_t size = 0;
  bool direct = false;
  Descriptor descriptor;
};

class PosixFiles final : public Files {
 public:
  PosixFiles(std::vector<File> files, bool drop) : files_(std::move(files)), drop_(drop) {}

  int count() const override { return static_cast<int>(files_.size()); }
  const std::string& path(int file) const override { return at(file).path; }
  std::uint64_t size(int file) const override { return at(file).size; }
  bool aligned_only(int file) const override { return at(file).direct; }

  Result<std::size_t> read_some(int file, std::uint64_t offset, std::span<std::byte> to) const override {
    const File& source = at(file);
    const std::size_t wanted = std::min(to.size(), kLargestRead);
    ::ssize_t got = -1;
    do got = ::pread(source.descriptor.get(), to.data(), wanted, static_cast<::off_t>(offset));
    while (got < 0 && errno == EINTR);
    return outcome(source, offset, wanted, got < 0 ? -errno : got);
  }

  int descriptor(int file) const override { return at(file).descriptor.get(); }
  Result<std::size_t> completed(const KernelRead& read) const override {
    return outcome(at(read.file), read.offset, read.to.size(), read.outcome);
  }

 private:
  // Bytes, or a negative error number.
  Result<std::size_t> outcome(const File& source, std::uint64_t offset, std::size_t wanted, ::ssize_t got) const {
    if (got < 0)
      return fail(ErrorKind::io,
                  fmt::format("{}: reading {} bytes at offset {} failed: {}", source.path, wanted, offset,
                              std::generic_category().message(static_cast<int>(-got))),
                  "check the disk and its cable or network mount, then try again");
    if (drop_) give_pages_back(source, offset, static_cast<std::uint64_t>(got));
    return static_cast<std::size_t>(got);
  }

  const File& at(int file) const {
    SLUICE_CHECK(file >= 0 && file < count());
    return files_[static_cast<std::size_t>(file)];
  }
  static void give_pages_back(const File& source, std::uint64_t offset, std::uint64_t bytes) {
    const std::uint64_t first = page_floor(offset);
    ::posix_fadvise(source.descriptor.get(), static_cast<::off_t>(first),
                    static_cast<::off_t>(page_ceil(offset + bytes) - first), POSIX_FADV_DONTNEED);
  }

  std::vector<File> files_;
  bool drop_;
};

bool reads_directly(const File& file) {
  const PageArena page(kDiskPage);
  ::ssize_t got = -1;
  do got = ::pread(file.descriptor.get(), page.data(), kDiskPage, 0);
  while (got < 0 && errno == EINTR);
  return got >= 0;
}

Result<File> open_buffered(const std::string& path, ::dev_t& device) {
  File file{path, 0, false, open_descriptor(path, 0)};
  struct ::stat facts {};
  if (file.descriptor.get() < 0 || ::fstat(file.descriptor.get(), &facts) != 0)
    return tl::unexpected<Error>(unreadable(path, "look at the disk or its mount", ErrorKind::io));
  if (!S_ISREG(facts.st_mode)) return fail(ErrorKind::io, fmt::format("{}: is not a regular file", path));
  file.size = static_cast<std::uint64_t>(facts.st_size);
  device = facts.st_dev;
  return file;
}

// Turns `file` into one that reads directly, if its file system can.
void try_direct(File& file, ::dev_t device, std::map<::dev_t, bool>& can) {
  const auto known = can.find(device);
  if (known != can.end() && !known->second) return;
  File direct{file.path, file.size, true, open_descriptor(file.path, O_DIRECT)};
  const bool works = direct.descriptor.get() >= 0 && (known != can.end() || reads_directly(direct));
  can[device] = works;
  if (works) file = std::move(direct);
}

}  // namespace

Result<std::unique_ptr<Files>> open_files(const std::vector<std::string>& paths, IoMode mode) {
  std::vector<File> files;
  std::map<::dev_t, bool> can_read_directly;
  for (const std::string& path : paths) {
    ::dev_t device = 0;
    TRY_TAKE(File file, open_buffered(path, device));
    if (mode == IoMode::automatic || mode == IoMode::direct) try_direct(file, device, can_read_directly);
    if (mode == IoMode::direct && !file.direct)
      return fail(ErrorKind::unsupported, fmt::format("{}: its file system does not support direct reads", path),
                  "use --io auto or --io buffered");
    files.push_back(std::move(file));
  }
  return std::make_unique<PosixFiles>(std::move(files), mode == IoMode::drop);
}

}  // namespace sluice
