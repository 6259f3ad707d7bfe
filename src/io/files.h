// Files of a checkpoint, opened for reading: the one door to the file system for weights.
//
// Two implementations: POSIX (files.cpp), and memory or faulty files in tests. Thread-safe: any thread may read.
#pragma once

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
};

Result<std::unique_ptr<Files>> open_files(const std::vector<std::string>& paths, IoMode mode);

}  // namespace sluice
