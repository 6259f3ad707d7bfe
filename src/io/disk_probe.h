// How fast the weights can really be read: measured on a file of the checkpoint, in reads as large as an expert's.
//
// Bounded to a fraction of a second. Direct where the file system can, so that the page cache is not measured instead;
// each byte is read at most once.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "io/files.h"

namespace sluice {

struct DiskSpeed {
  double bytes_per_second = 0;
  std::uint64_t bytes = 0;  // that were read
  double seconds = 0;
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
  std::uint64_t from = 0;  // the first read begins about here in the file, so that rounds need not read the same bytes
};

// Requires: read_bytes > 0, depth >= 1. Fails if the file is empty or cannot be read, or if there is no such engine.
Result<DiskSpeed> probe_disk(const std::string& path, const DiskProbe& probe);

}  // namespace sluice
