// See checksums.h.
#include "checkpoint/checksums.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/text_file.h"
#include "checkpoint/shard_names.h"
#include "io/output_file.h"

namespace sluice {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "SLUICEXH";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kSumBytes = sizeof(std::uint64_t), kRunBytes = 3 * sizeof(std::uint64_t);
constexpr const char* kRewrite = "`sluice verify MODEL --write` writes it anew; without it nothing is checked";

std::string path_in(const std::string& directory) { return (fs::path(directory) / kChecksumsFile).string(); }

template <class Number>
void put(std::string& text, Number number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  text.append(bytes, sizeof number);
}

// Takes numbers and names off the front; ok() turns false where the text ends too early.
class Taker {
 public:
  explicit Taker(std::string_view text) : rest_(text) {}
  template <class Number>
  Number number() {
    Number value = 0;
    if (const std::string_view bytes = text(sizeof value); bytes.size() == sizeof value)
      std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string_view text(std::size_t bytes) {
    ok_ &= bytes <= rest_.size();
    if (!ok_) return {};
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }
  bool ok() const { return ok_; }
  std::size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

struct KnownFile {
  std::string_view name;
  std::uint64_t bytes = 0, runs = 0;
  int number = -1;  // among the directory's shards; -1: it is not there
};

class Reader {
 public:
  Reader(std::string path, const std::vector<std::string>& shards) : path_(std::move(path)), shards_(shards) {}

  Result<Checksums> read() {
    auto text = read_text_file(path_);
    if (!text) return wrong(fmt::format("cannot be read ({})", text.error().what));
    TRY_TAKE(const std::string_view body, checked(*text));
    Taker taker(body);
    TRY(take_files(taker));
    TRY(match_shards());
    return take_runs(taker);
  }

 private:
  tl::unexpected<Error> wrong(const std::string& what) const {
    return fail(ErrorKind::corrupt, fmt::format("{}: {}", path_, what), kRewrite);
  }

  // What stands between the version and the checksum of the whole.
  Result<std::string_view> checked(std::string_view text) const {
    if (text.size() < kMagic.size() + sizeof kVersion + kSumBytes || !text.starts_with(kMagic))
      return wrong("is damaged: it does not begin as a file of checksums");
    std::uint64_t told = 0;
    std::memcpy(&told, text.data() + text.size() - kSumBytes, kSumBytes);
    text.remove_suffix(kSumBytes);
    if (checksum(std::as_bytes(std::span(text))) != told) return wrong("is damaged: its own checksum does not match");
    std::uint32_t version = 0;
    std::memcpy(&version, text.data() + kMagic.size(), sizeof version);
    if (version != kVersion)
      return wrong(fmt::format("is of version {}, and this sluice reads version {}", version, kVersion));
    return text.substr(kMagic.size() + sizeof kVersion);
  }

  Result<> take_files(Taker& taker) {
    const auto count = taker.number<std::uint32_t>();
    for (std::uint32_t file = 0; file < count && taker.ok(); ++file) {
      KnownFile known;
      known.bytes = taker.number<std::uint64_t>();
      known.runs = taker.number<std::uint64_t>();
      known.name = taker.text(taker.number<std::uint32_t>());
      files_.push_back(known);
    }
    std::uint64_t runs = 0;
    for (const KnownFile& file : files_) runs += std::min<std::uint64_t>(file.runs, taker.left());
    if (!taker.ok() || runs * kRunBytes != taker.left()) return wrong("is damaged: its parts do not fit together");
    return {};
  }

  // Every shard must be known and have its size; known ones need not all be there.
  Result<> match_shards() {
    std::map<std::string_view, KnownFile*> by_name;
    for (KnownFile& file : files_) by_name[file.name] = &file;
    for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
      const std::string name = file_name(shards_[shard]);
      const auto known = by_name.find(name);
      if (known == by_name.end()) return wrong(fmt::format("belongs to other shards: it does not know {}", name));
      std::error_code failed;
      const std::uint64_t bytes = fs::file_size(shards_[shard], failed);
      if (failed || bytes != known->second->bytes)
        return wrong(
            fmt::format("is older than the shards, or of others: {} had {} bytes when it was written, and has {}", name,
                        known->second->bytes, bytes));
      known->second->number = static_cast<int>(shard);
    }
    return {};
  }

  Result<Checksums> take_runs(Taker& taker) const {
    struct Summed {
      FileRun run;
      std::uint64_t sum;
    };
    std::vector<Summed> summed;
    for (const KnownFile& file : files_)
      for (std::uint64_t run = 0; run < file.runs; ++run) {
        const auto offset = taker.number<std::uint64_t>(), bytes = taker.number<std::uint64_t>();
        const auto sum = taker.number<std::uint64_t>();
        if (offset > file.bytes || bytes > file.bytes - offset)
          return wrong("is damaged: it tells of bytes beyond the end of a shard");
        if (file.number >= 0) summed.push_back({{file.number, offset, bytes}, sum});
      }
    std::ranges::sort(summed, [](const Summed& left, const Summed& right) { return left.run < right.run; });
    std::vector<FileRun> runs;
    std::vector<std::uint64_t> sums;
    runs.reserve(summed.size()), sums.reserve(summed.size());
    for (const Summed& one : summed) runs.push_back(one.run), sums.push_back(one.sum);
    return Checksums(shards_, std::move(runs), std::move(sums));
  }

  std::string path_;
  const std::vector<std::string>& shards_;
  std::vector<KnownFile> files_;
};

}  // namespace

std::uint64_t checksum(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

Result<std::optional<Checksums>> Checksums::read(const std::string& directory, const std::vector<std::string>& paths) {
  std::error_code failed;
  if (!fs::exists(path_in(directory), failed) && !failed) return std::optional<Checksums>();
  TRY_TAKE(Checksums sums, Reader(path_in(directory), paths).read());
  return std::optional<Checksums>(std::move(sums));
}

Result<> Checksums::write(const std::string& directory) const {
  SLUICE_CHECK(sums_.size() == runs_.size());
  std::vector<std::uint64_t> counts(paths_.size());
  for (const FileRun& run : runs_) ++counts[static_cast<std::size_t>(run.file)];
  std::string text(kMagic);
  put(text, kVersion);
  put(text, static_cast<std::uint32_t>(paths_.size()));
  for (std::size_t file = 0; file < paths_.size(); ++file) {
    std::error_code failed;
    const std::uint64_t bytes = fs::file_size(paths_[file], failed);
    if (failed) return fail(ErrorKind::io, fmt::format("{}: {}", paths_[file], failed.message()));
    const std::string name = file_name(paths_[file]);
    put(text, bytes);
    put(text, counts[file]);
    put(text, static_cast<std::uint32_t>(name.size()));
    text += name;
  }
  text.reserve(text.size() + runs_.size() * kRunBytes + kSumBytes);
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    put(text, runs_[run].offset);
    put(text, runs_[run].bytes);
    put(text, sums_[run]);
  }
  put(text, checksum(std::as_bytes(std::span(text))));
  return write_text_file(path_in(directory), text);
}

std::optional<std::size_t> Checksums::find(const FileRun& run) const {
  const auto less = [](const FileRun& left, const FileRun& right) { return left < right; };
  const auto found = std::ranges::lower_bound(runs_, run, less);
  if (found == runs_.end() || !(*found == run)) return std::nullopt;
  return static_cast<std::size_t>(found - runs_.begin());
}

Result<> Checksums::cover(const std::string& directory, const BoundCensus& bound) const {
  std::string missing;
  visit_runs(bound, [&](const FileRun& run, FunctionRef<std::string()> label) {
    if (!find(run)) missing = label();
    return missing.empty();
  });
  if (missing.empty()) return {};
  return fail(ErrorKind::corrupt,
              fmt::format("{}: has no checksum of {}: it belongs to shards that are laid out otherwise, or was written "
                          "for another part of the model",
                          path_in(directory), missing),
              kRewrite);
}

std::uint64_t checksums_bytes(const std::string& directory) {
  std::error_code failed;
  const std::uint64_t bytes = fs::file_size(path_in(directory), failed);
  return failed ? 0 : 4 * bytes;  // the text, the runs while they are sorted and after, what was checked
}

}  // namespace sluice
