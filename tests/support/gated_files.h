// Files whose reads wait behind a gate until it is opened, and that remember what was read in which order.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "io/files.h"

namespace sluice::test {

class GatedFiles final : public Files {
 public:
  struct Read {
    int file = 0;
    std::uint64_t offset = 0, bytes = 0;
  };

  explicit GatedFiles(const Files& files) : files_(files) {}
  void open() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  void close() {
    const std::scoped_lock lock(mutex_);
    open_ = false;
  }
  // In the order in which they came to the gate.
  std::vector<Read> reads() const {
    const std::scoped_lock lock(mutex_);
    return reads_;
  }

  int count() const override { return files_.count(); }
  const std::string& path(int file) const override { return files_.path(file); }
  std::uint64_t size(int file) const override { return files_.size(file); }
  bool aligned_only(int file) const override { return files_.aligned_only(file); }
  Result<std::size_t> read_some(int file, std::uint64_t offset, std::span<std::byte> to) const override {
    pass({file, offset, to.size()});
    return files_.read_some(file, offset, to);
  }
  // What the kernel reads on its own waits when it is there.
  int descriptor(int file) const override { return files_.descriptor(file); }
  Result<std::size_t> completed(const KernelRead& read) const override {
    pass({read.file, read.offset, read.to.size()});
    return files_.completed(read);
  }

 private:
  void pass(const Read& read) const {
    std::unique_lock lock(mutex_);
    reads_.push_back(read);
    opened_.wait(lock, [&] { return open_; });
  }

  const Files& files_;
  mutable std::mutex mutex_;
  mutable std::condition_variable opened_;
  bool open_ = false;
  mutable std::vector<Read> reads_;
};

}  // namespace sluice::test
