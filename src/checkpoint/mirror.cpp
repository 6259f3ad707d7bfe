// See mirror.h.
#include "checkpoint/mirror.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/counter_random.h"
#include "checkpoint/source_reader.h"
#include "io/files.h"

namespace sluice {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kWindow = std::uint64_t{1} << 20;  // of a header, read at a time
constexpr std::uint64_t kSampleBytes = 16384;
constexpr std::uint64_t kSamples = 6;  // of a shard, its end among them

std::string advice(const std::string& directory) {
  return fmt::format("copy the shard there again, or leave out --mirror {}", directory);
}

// The paths that `shards` have in the mirror, if all are there and none is the checkpoint's own file.
Result<Mirror> find_files(const std::string& directory, const std::vector<std::string>& shards) {
  Mirror mirror{directory, {}, false};
  std::error_code problem;
  if (!fs::is_directory(directory, problem))
    return fail(ErrorKind::bad_input, fmt::format("--mirror: there is no directory {}", directory));
  for (const std::string& shard : shards) {
    const fs::path path = fs::path(directory) / fs::path(shard).filename();
    struct ::stat ours {
    }, theirs{};
    if (::stat(path.c_str(), &theirs) != 0 || ::stat(shard.c_str(), &ours) != 0)
      return fail(ErrorKind::corrupt, fmt::format("the mirror has no {}", path.string()), advice(directory));
    if (ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino)
      return fail(ErrorKind::bad_input, fmt::format("--mirror: {} is {} itself", path.string(), shard),
                  "a mirror is a copy on another drive");
    mirror.same_drive |= ours.st_dev == theirs.st_dev;
    mirror.files.push_back(path.string());
  }
  return mirror;
}

class Comparison {
 public:
  Comparison(const Files& ours, const Files& theirs, std::string directory)
      : files_(ours), others_(theirs), directory_(std::move(directory)), ours_(ours), theirs_(theirs) {}

  Result<> shard(int file) {
    const std::uint64_t size = files_.size(file);
    if (others_.size(file) != size)
      return fail(ErrorKind::corrupt,
                  fmt::format("{} has {} bytes, and {} has {}", others_.path(file), others_.size(file),
                              files_.path(file), size),
                  advice(directory_));
    TRY_TAKE(const std::uint64_t header, header_end(file));
    for (std::uint64_t at = 0; at < header; at += kWindow) TRY(same(file, at, std::min(kWindow, header - at)));
    const std::uint64_t span = std::min(kSampleBytes, size - header);
    for (std::uint64_t sample = 0; sample < kSamples && span > 0; ++sample) {
      const std::uint64_t last = size - span;
      const std::uint64_t at =
          sample == 0 ? last
                      : header + counter_random(size, sample, static_cast<std::uint64_t>(file)) % (last - header + 1);
      TRY(same(file, at, span));
    }
    return {};
  }

 private:
  // Of a safetensors file: 8 bytes that say how long the header is, and the header. The checkpoint's was read before.
  Result<std::uint64_t> header_end(int file) {
    const std::uint64_t size = files_.size(file);
    TRY(same(file, 0, std::min<std::uint64_t>(size, 8)));
    if (size < 8) return size;
    TRY_TAKE(const std::span<const std::byte> bytes, ours_.read({file, 0, 8}));
    std::uint64_t length = 0;
    for (int place = 7; place >= 0; --place)
      length = length << 8 | std::to_integer<std::uint64_t>(bytes[static_cast<std::size_t>(place)]);
    return length < size - 8 ? length + 8 : size;
  }

  Result<> same(int file, std::uint64_t at, std::uint64_t bytes) {
    TRY_TAKE(const std::span<const std::byte> ours, ours_.read({file, at, bytes}));
    TRY_TAKE(const std::span<const std::byte> theirs, theirs_.read({file, at, bytes}));
    const auto [ours_end, theirs_end] = std::ranges::mismatch(ours, theirs);
    if (ours_end == ours.end()) return {};
    return fail(ErrorKind::corrupt,
                fmt::format("{} differs from {} at byte {}", others_.path(file), files_.path(file),
                            at + static_cast<std::uint64_t>(ours_end - ours.begin())),
                advice(directory_));
  }

  const Files& files_;
  const Files& others_;
  std::string directory_;
  SourceReader ours_, theirs_;
};

}  // namespace

Result<Mirror> open_mirror(const std::string& directory, const std::vector<std::string>& shards) {
  TRY_TAKE(Mirror mirror, find_files(directory, shards));
  // Past the page cache where that can be: what the drive holds is asked for, not what memory remembers of it.
  TRY_TAKE(const std::unique_ptr<Files> ours, open_files(shards, IoMode::automatic));
  TRY_TAKE(const std::unique_ptr<Files> theirs, open_files(mirror.files, IoMode::automatic));
  Comparison comparison(*ours, *theirs, directory);
  for (int file = 0; file < ours->count(); ++file) TRY(comparison.shard(file));
  return mirror;
}

}  // namespace sluice
