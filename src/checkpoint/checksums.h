// Checksums of everything that is read at once, kept in one small file beside the shards.
//
// "sluice.checksums" holds XXH3-64 of every run of block_runs.h: 24 bytes for an expert or a row of the embedding. It
// is tied to its shards by their names and sizes and by the places of all runs, and to itself by a checksum of its own.
// A shard replaced by another of the same layout shows where its first block is read. Immutable; any thread.
//
// The file, little-endian: "SLUICEXH", version (u32), files (u32); for each file, by name: its size (u64), its runs
// (u64), length of its name (u32), the name; then of all runs, file by file and by offset: offset, bytes, sum (u64
// each); at the end XXH3-64 of everything before.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "checkpoint/block_runs.h"
#include "io/files.h"

namespace sluice {

inline constexpr std::string_view kChecksumsFile = "sluice.checksums";

std::uint64_t checksum(std::span<const std::byte> bytes);

class Checksums {
 public:
  // Of the shards `paths`, whose numbers runs refer to. `runs` sorted, each once; sums[i] is of runs[i].
  Checksums(std::vector<std::string> paths, std::vector<FileRun> runs, std::vector<std::uint64_t> sums)
      : paths_(std::move(paths)), runs_(std::move(runs)), sums_(std::move(sums)) {}
  // Those of a directory, or nothing if it has none. A file that is damaged, of another version, of other shards or
  // older than these ones: corrupt, with what to do. `paths`: the directory's shards.
  static Result<std::optional<Checksums>> read(const std::string& directory, const std::vector<std::string>& paths);
  // Replaces what is there, whole or not at all.
  Result<> write(const std::string& directory) const;

  std::span<const FileRun> runs() const { return runs_; }
  std::uint64_t sum(std::size_t run) const { return sums_[run]; }
  // Number of a run; nothing if there is no sum of exactly these bytes.
  std::optional<std::size_t> find(const FileRun& run) const;
  // Fails (corrupt) with the first block of which a sum is missing.
  Result<> cover(const std::string& directory, const BoundCensus& bound) const;

 private:
  std::vector<std::string> paths_;
  std::vector<FileRun> runs_;
  std::vector<std::uint64_t> sums_;
};

// What reading and holding them takes in memory; 0 if the directory has none.
std::uint64_t checksums_bytes(const std::string& directory);

}  // namespace sluice
