// How fast the weights can really be read: measured on a file of the checkpoint, in reads as large as an expert's.
//
// Bounded to a fraction of a second, or to what a few small reads take where that is longer. Direct where the file
// system can, so that the page cache is not measured instead; each byte is read at most once.
#pragma once

#include <cstdint>
#include <string>

#include "base/cancel.h"
#include "base/result.h"
#include "io/files.h"

namespace sluice {

struct DiskSpeed {
  double bytes_per_second = 0;
  std::uint64_t bytes = 0;  // that were read
  double seconds = 0;
  std::uint64_t read_bytes = 0;             // of one request
  bool direct = false;                      // false: through the page cache, which may flatter
  ReadEngine engine = ReadEngine::threads;  // that read
};

struct DiskProbe {
  std::uint64_t read_bytes = std::uint64_t{16} << 20;  // of one request
  int depth = 4;                                       // requests under way at once
  std::uint64_t most_bytes = std::uint64_t{256} << 20;
  double most_seconds = 0.3;
  ReadEngine engine = ReadEngine::automatic;
  bool cached = false;     // through the page cache on purpose, which then is what is measured
  bool as_told = false;    // requests stay that large where the disk cannot bring `depth` of them in most_seconds
  std::uint64_t from = 0;  // the first read begins about here in the file, so that rounds need not read the same bytes
  const CancelFlag* cancel = nullptr;
};

// Requires: read_bytes > 0, depth >= 1. Fails if the file is empty or cannot be read, if there is no such engine, or if
// it is cancelled: then what has begun is waited for, and no more.
Result<DiskSpeed> probe_disk(const std::string& path, const DiskProbe& probe);
// The same of file 0, as it is opened.
Result<DiskSpeed> probe_disk(const Files& files, const DiskProbe& probe);

}  // namespace sluice
