// Files in memory that can misbehave: short reads, slow reads, failing reads. For tests of everything that reads.
//
// The kernel knows them (memfd), so that it can read them on its own; what it brings misbehaves like what we copy.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "io/files.h"

namespace sluice::test {

struct Faults {
  double short_reads = 0;                      // share of reads that bring less than asked
  double failing_reads = 0;                    // share of reads that fail
  std::chrono::microseconds longest_delay{0};  // each read takes up to this long
  std::uint64_t seed = 1;
};

class MemoryFiles final : public Files {
 public:
  // `aligned`: refuses reads that a direct file would refuse.
  explicit MemoryFiles(bool aligned = false, Faults faults = {})
      : aligned_(aligned), faults_(faults), random_(faults.seed) {}
  ~MemoryFiles() override;
  MemoryFiles(const MemoryFiles&) = delete;
  MemoryFiles& operator=(const MemoryFiles&) = delete;

  // Returns the number of the new file. Not while others read.
  int add(std::span<const std::byte> bytes);
  std::span<std::byte> bytes(int file) { return files_[static_cast<std::size_t>(file)].bytes; }
  void set_faults(Faults faults);
  std::uint64_t reads() const { return reads_; }

  int count() const override { return static_cast<int>(files_.size()); }
  const std::string& path(int file) const override { return files_[static_cast<std::size_t>(file)].path; }
  std::uint64_t size(int file) const override { return files_[static_cast<std::size_t>(file)].bytes.size(); }
  bool aligned_only(int) const override { return aligned_; }
  Result<std::size_t> read_some(int file, std::uint64_t offset, std::span<std::byte> to) const override;
  int descriptor(int file) const override { return files_[static_cast<std::size_t>(file)].descriptor; }
  Result<std::size_t> completed(const KernelRead& read) const override;

 private:
  struct File {
    std::string path;
    std::span<std::byte> bytes;  // the memfd, mapped
    int descriptor = -1;
  };
  // Of `count` bytes that could come, how many do, and when.
  Result<std::size_t> misbehave(int file, std::size_t count) const;
  Result<> expect_aligned(int file, std::uint64_t offset, std::span<std::byte> to) const;

  std::vector<File> files_;
  bool aligned_;
  mutable std::mutex mutex_;  // guards faults_ and random_
  Faults faults_;
  mutable std::mt19937_64 random_;
  mutable std::atomic<std::uint64_t> reads_{0};
};

std::vector<std::byte> random_bytes(std::size_t count, std::uint64_t seed);

}  // namespace sluice::test
