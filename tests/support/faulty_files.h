// Any files, but misbehaving on purpose: what a disk, a network mount or an interrupted download does to a reader.
//
// Wraps real files, so that whole checkpoints can be read through faults. What a kernel leaves undefined (the bytes of
// a buffer beyond what a read brought, the order and speed of reads) is made as unpleasant as possible; what it
// promises is kept. Thread-safe as every Files.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "io/files.h"

namespace sluice::test {

struct FaultPlan {
  std::uint64_t seed = 1;
  double short_reads = 0;                       // share of reads that bring only part of what was asked
  double empty_reads = 0;                       // share of reads that bring nothing although there is more
  std::chrono::microseconds longest_delay{0};   // each read takes up to this long
  std::int64_t fail_from = -1, fail_count = 0;  // reads number fail_from .. fail_from + fail_count - 1 fail with EIO
  int shrunk_file = -1;                         // this file ends earlier than its size says,
  std::uint64_t shrunk_by = 0;                  // by so much
  bool aligned_only = false;                    // pretend to be O_DIRECT and refuse anything that is not aligned
};

class FaultyFiles final : public Files {
 public:
  FaultyFiles(std::unique_ptr<Files> inner, FaultPlan plan) : inner_(std::move(inner)), plan_(plan) {}

  std::uint64_t reads() const { return reads_; }
  std::uint64_t failed_reads() const { return failed_; }
  // From now on. Not while others read.
  void set_plan(FaultPlan plan);

  int count() const override { return inner_->count(); }
  const std::string& path(int file) const override { return inner_->path(file); }
  std::uint64_t size(int file) const override { return inner_->size(file); }
  bool aligned_only(int file) const override { return plan_.aligned_only || inner_->aligned_only(file); }
  Result<std::size_t> read_some(int file, std::uint64_t offset, std::span<std::byte> to) const override;
  int descriptor(int file) const override { return inner_->descriptor(file); }
  Result<std::size_t> completed(const KernelRead& read) const override;

 private:
  // One attempt; `inner` makes it in fact, or tells what the kernel's came to.
  Result<std::size_t> attempt(int file, std::uint64_t offset, std::span<std::byte> to,
                              FunctionRef<Result<std::size_t>()> inner) const;

  std::unique_ptr<Files> inner_;
  FaultPlan plan_;
  mutable std::atomic<std::uint64_t> reads_{0}, failed_{0};
};

}  // namespace sluice::test
