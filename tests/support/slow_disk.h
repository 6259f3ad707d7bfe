// Files of a disk that delivers so many bytes a second, however many ask.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "io/files.h"

namespace sluice::test {

class SlowDisk final : public Files {
 public:
  using Clock = std::chrono::steady_clock;

  SlowDisk(const Files& files, double bytes_per_second) : files_(files), rate_(bytes_per_second) {}
  std::uint64_t bytes() const { return bytes_; }  // that it was asked for

  int count() const override { return files_.count(); }
  const std::string& path(int file) const override { return files_.path(file); }
  std::uint64_t size(int file) const override { return files_.size(file); }
  bool aligned_only(int file) const override { return files_.aligned_only(file); }
  Result<std::size_t> read_some(int file, std::uint64_t offset, std::span<std::byte> to) const override {
    Clock::time_point done;
    {
      const std::scoped_lock lock(mutex_);
      free_ = std::max(free_, Clock::now()) + time_of(to.size(), rate_);
      done = free_;
      bytes_ += to.size();
    }
    std::this_thread::sleep_until(done);
    return files_.read_some(file, offset, to);
  }
  static Clock::duration time_of(std::uint64_t bytes, double rate) {
    return std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(static_cast<double>(bytes) / rate));
  }

 private:
  const Files& files_;
  double rate_;
  mutable std::mutex mutex_;
  mutable Clock::time_point free_;
  mutable std::atomic<std::uint64_t> bytes_{0};
};

}  // namespace sluice::test
