// Files of a checkpoint, opened for reading: the one door to the file system for weights.
//
// Two implementations: POSIX (files.cpp), and memory or faulty files in tests. Thread-safe: any thread may read.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace sluice {

enum class IoMode {
  automatic,  // direct where the file system can, else buffered
  direct,     // O_DIRECT; opening fails where it is not supported
  buffered,   // through the page cache
  drop,       // through the page cache, and the pages are given back after each read
};

// Bytes of one read at most: Linux cuts it at 2 GiB - 4 KiB.
inline constexpr std::size_t kLargestRead = std::size_t{1} << 30;

// Who reads in the background.
enum class ReadEngine {
  automatic,  // as measured best: docs/reading.md
  ring,       // io_uring: the kernel has many reads at once from one thread
  threads,    // a pool that uses pread
};

// A read that the kernel was given to do on its own, and what it came to: bytes, or a negative error number.
struct KernelRead {
  int file = 0;
  std::uint64_t offset = 0;
  std::span<std::byte> to;
  int outcome = 0;
  std::chrono::steady_clock::time_point begun{};
};

class Files {
 public:
  virtual ~Files() = default;
  virtual int count() const = 0;
  virtual const std::string& path(int file) const = 0;
  virtual std::uint64_t size(int file) const = 0;
  // True if reads of this file must use page-aligned offsets, lengths and buffers (O_DIRECT).
  virtual bool aligned_only(int file) const = 0;
  // One attempt to read into `to`: the number of bytes that came (fewer near the end of the file, or at the kernel's
  // whim). EINTR is retried inside; any other failure is an error that names the file.
  virtual Result<std::size_t> read_some(int file, std::uint64_t offset, std::span<std::byte> to) const = 0;
  // What the kernel knows the file by, for reads that it does on its own; -1: it does not, read_some is the only way.
  virtual int descriptor(int /*file*/) const { return -1; }
  // What read_some would say after such a read. Requires: descriptor(file) >= 0; an interrupted read is tried again
  // before it comes here.
  virtual Result<std::size_t> completed(const KernelRead& /*read*/) const {
    return fail(ErrorKind::bug, "the kernel does not know this file");
  }
};

Result<std::unique_ptr<Files>> open_files(const std::vector<std::string>& paths, IoMode mode);

}  // namespace sluice
