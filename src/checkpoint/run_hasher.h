// Checksums of many runs in one pass over files: bytes come in rising order, runs may overlap.
//
// For work that reads a checkpoint from end to end. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "checkpoint/block_runs.h"

namespace sluice {

class RunHasher {
 public:
  // `runs` sorted, each once; must outlive the hasher.
  explicit RunHasher(std::span<const FileRun> runs);
  ~RunHasher();
  RunHasher(const RunHasher&) = delete;
  RunHasher& operator=(const RunHasher&) = delete;

  // All bytes of a file, piece by piece; files in rising number. `bytes` null: these could not be read, and no run with
  // one of them gets a sum.
  void feed(int file, std::uint64_t offset, std::uint64_t count, const std::byte* bytes);

  bool is_whole(std::size_t run) const { return whole_[run]; }  // all of its bytes came
  std::uint64_t sum(std::size_t run) const { return sums_[run]; }
  // Nothing if not all of its bytes came. Requires: one of the runs.
  std::optional<std::uint64_t> find_sum(const FileRun& run) const;
  const std::vector<std::uint64_t>& sums() const { return sums_; }

 private:
  struct Open;

  std::span<const FileRun> runs_;
  std::vector<std::uint64_t> sums_;
  std::vector<bool> whole_;
  std::size_t next_ = 0;                     // runs before it have begun
  std::vector<std::unique_ptr<Open>> open_;  // begun, and not at their ends
};

}  // namespace sluice
