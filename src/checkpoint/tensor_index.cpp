// See tensor_index.h.
#include "checkpoint/tensor_index.h"
#include "base/side_by_side.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>

#include "base/counted.h"
#include "base/text_file.h"
#include "base/units.h"
#include "checkpoint/shard_names.h"

namespace sluice {

namespace {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of the format's own library
constexpr std::uint32_t kEmpty = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kMaxNamedFiles = 12;

class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

// One thread's means to read headers, used for file after file.
class HeaderReader {
 public:
  Result<SafetensorsHeader> read(const std::string& path, int file);

 private:
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  HeaderParser parser_;
};

Result<> read_exactly(const OpenFile& file, const std::string& path, std::uint64_t offset, char* to,
                      std::uint64_t bytes) {
  while (bytes > 0) {
    const ssize_t got = ::pread(file.descriptor(), to, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(ErrorKind::io, fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    if (got == 0)
      return fail(ErrorKind::corrupt, fmt::format("{}: the file ends inside its header", path),
                  "fetch this file again");
    to += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::uint64_t>(got);
  }
  return {};
}

Result<SafetensorsHeader> HeaderReader::read(const std::string& path, int number) {
  const auto damaged = [&](const std::string& problem) {
    return fail(ErrorKind::corrupt, fmt::format("{}: {}", path, problem), "fetch this file again");
  };
  const OpenFile file(path);
  struct stat status = {};
  if (file.descriptor() < 0 || ::fstat(file.descriptor(), &status) != 0)
    return tl::unexpected<Error>(unreadable(path, "look at the disk, or fetch this file again", ErrorKind::io));
  if (!S_ISREG(status.st_mode)) return damaged("this is not a file");
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  if (file_bytes < kLengthBytes)
    return damaged(fmt::format("the file has {} bytes, too few for a safetensors header", file_bytes));

  unsigned char prefix[kLengthBytes];
  TRY(read_exactly(file, path, 0, reinterpret_cast<char*>(prefix), kLengthBytes));
  std::uint64_t length = 0;
  for (int byte = 7; byte >= 0; --byte) length = length << 8 | prefix[byte];
  if (length > kMaxHeaderBytes)
    return damaged(fmt::format("a header of {} bytes is absurd (at most {})", length, format_count(kMaxHeaderBytes)));
  if (length > file_bytes - kLengthBytes)
    return damaged(fmt::format("the header should have {} bytes, but the file ends {} bytes earlier",
                               format_count(length), format_count(length - (file_bytes - kLengthBytes))));

  if (const std::size_t room = length + HeaderParser::padding(); room > capacity_) {
    buffer_ = std::make_unique_for_overwrite<char[]>(room);
    capacity_ = room;
  }
  TRY(read_exactly(file, path, kLengthBytes, buffer_.get(), length));
  std::memset(buffer_.get() + length, 0, HeaderParser::padding());
  return parser_.parse({buffer_.get(), length}, {path, number, file_bytes, kLengthBytes + length});
}

std::uint64_t hash_of(std::string_view name) { return std::hash<std::string_view>{}(name); }

// What the threads fill in, by file.
struct Readings {
  std::vector<SafetensorsHeader> headers;
  std::vector<std::vector<std::uint64_t>> hashes;  // of the names
  std::vector<std::optional<Error>> errors;
};

void read_headers(const std::vector<std::string>& paths, int threads, Readings& readings) {
  const std::size_t files = paths.size();
  readings.headers.resize(files);
  readings.hashes.resize(files);
  readings.errors.resize(files);
  std::atomic<std::size_t> next{0};
  work_side_by_side(std::min(static_cast<std::size_t>(threads), files), [&](bool) {
    HeaderReader reader;
    for (std::size_t file = next++; file < files; file = next++) {
      auto header = reader.read(paths[file], static_cast<int>(file));
      if (!header) {
        readings.errors[file] = std::move(header.error());
        continue;
      }
      readings.hashes[file].reserve(header->tensors.size());
      for (const TensorRecord& tensor : header->tensors) readings.hashes[file].push_back(hash_of(tensor.name()));
      readings.headers[file] = std::move(*header);
    }
  });
}

// The first error, with the other damaged files named; nothing if all is well.
Result<> first_error(const std::vector<std::string>& paths, std::vector<std::optional<Error>>& errors) {
  std::optional<Error> first;
  std::size_t others = 0;
  std::string names;
  for (std::size_t file = 0; file < errors.size(); ++file) {
    if (!errors[file]) continue;
    if (!first) {
      first = std::move(errors[file]);
    } else if (++others <= kMaxNamedFiles) {
      names += (names.empty() ? "" : ", ") + file_name(paths[file]);
    }
  }
  if (!first) return {};
  if (others > 0)
    first->what += fmt::format("; {} cannot be used either: {}{}", counted(others, "more file"), names,
                               others > kMaxNamedFiles ? ", …" : "");
  return tl::unexpected<Error>(std::move(*first));
}

}  // namespace

Result<TensorIndex> TensorIndex::read(std::vector<std::string> paths, int threads) {
  if (paths.size() > std::numeric_limits<std::uint16_t>::max())
    return fail(ErrorKind::unsupported, fmt::format("a checkpoint of {} files is too many", paths.size()));
  Readings readings;
  read_headers(paths, threads, readings);
  TRY(first_error(paths, readings.errors));

  TensorIndex index;
  index.paths_ = std::move(paths);
  index.headers_ = std::move(readings.headers);
  index.first_.push_back(0);
  for (const SafetensorsHeader& header : index.headers_)
    index.first_.push_back(index.first_.back() + header.tensors.size());
  TRY(index.build_table(readings.hashes));
  return index;
}

Result<> TensorIndex::build_table(const std::vector<std::vector<std::uint64_t>>& hashes) {
  if (count() >= kEmpty) return fail(ErrorKind::unsupported, fmt::format("{} tensors are too many", count()));
  slots_.assign(std::bit_ceil(std::max<std::size_t>(16, 2 * count())), Slot{0, kEmpty});
  const std::size_t mask = slots_.size() - 1;
  std::uint32_t number = 0;
  for (std::size_t file = 0; file < hashes.size(); ++file)
    for (std::size_t entry = 0; entry < hashes[file].size(); ++entry, ++number) {
      const std::uint64_t hash = hashes[file][entry];
      const auto tag = static_cast<std::uint32_t>(hash >> 32);
      std::size_t slot = hash & mask;
      for (; slots_[slot].number != kEmpty; slot = (slot + 1) & mask) {
        if (slots_[slot].tag != tag) continue;
        const TensorRecord &earlier = tensor(slots_[slot].number), &later = headers_[file].tensors[entry];
        if (earlier.name() != later.name()) continue;
        return fail(ErrorKind::corrupt,
                    earlier.file == file
                        ? fmt::format("{}: tensor {} occurs twice", paths_[file], in_quotes(later.name()))
                        : fmt::format("tensor {} is both in {} and in {}", in_quotes(later.name()),
                                      paths_[earlier.file], paths_[file]),
                    earlier.file == file ? "fetch this file again" : "the directory may mix two checkpoints");
      }
      slots_[slot] = {tag, number};
    }
  return {};
}

const TensorRecord* TensorIndex::find(std::string_view name) const {
  const std::uint64_t hash = hash_of(name);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = hash & mask; slots_[slot].number != kEmpty; slot = (slot + 1) & mask) {
    if (slots_[slot].tag != static_cast<std::uint32_t>(hash >> 32)) continue;
    const TensorRecord& candidate = tensor(slots_[slot].number);
    if (candidate.name() == name) return &candidate;
  }
  return nullptr;
}

const TensorRecord& TensorIndex::tensor(std::size_t number) const {
  const auto after = std::upper_bound(first_.begin(), first_.end(), number);
  const auto file = static_cast<std::size_t>(after - first_.begin()) - 1;
  return headers_[file].tensors[number - first_[file]];
}

std::size_t TensorIndex::number(const TensorRecord& tensor) const {
  return first_[tensor.file] + static_cast<std::size_t>(&tensor - headers_[tensor.file].tensors.data());
}

}  // namespace sluice
