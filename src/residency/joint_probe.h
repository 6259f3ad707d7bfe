// How fast the disk and memory deliver, each alone and each beside the other: the yardsticks of a token's time.
//
// Reads from disk end in memory and kernels read from it, so each slows the other down; a floor measured alone would be
// lower than anything that can be reached. Where weights lie in several directories, all of them are read at the same
// time, each as fast as it brings: no way of sharing reads out among them can be faster. Uses threads and some hundred
// MiB of its own for as long as the object lives. Used by one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "base/thread_pool.h"
#include "io/open_queue.h"

namespace sluice {

struct JointRates {  // bytes a second
  double disk_alone = 0, disk_beside = 0;
  double memory_alone = 0, memory_beside = 0;
};

struct JointProbeShape {
  int threads = 1;                                     // that read memory
  std::uint64_t read_bytes = std::uint64_t{16} << 20;  // of one request to the disk
  int depth = 4;                                       // readers of each directory
  ReadEngine engine = ReadEngine::automatic;           // that reads
  double seconds = 0.4;                                // of each of the three measurements
  std::uint64_t memory_bytes = std::uint64_t{192} << 20;
};

class JointProbe {
 public:
  // Reads whole pages at random places of the files of all `directories`, which must outlive the probe. Fails as
  // open_read_queue. Requires: a directory, and a file in each.
  static Result<std::unique_ptr<JointProbe>> open(std::span<const Files* const> directories,
                                                  const JointProbeShape& shape);
  ~JointProbe();

  // Takes about three times shape.seconds. Fails if a file cannot be read.
  Result<JointRates> measure();

 private:
  class Disk;
  class Memory;
  JointProbe(std::unique_ptr<Disk> disk, const JointProbeShape& shape);

  std::unique_ptr<Disk> disk_;
  std::unique_ptr<Memory> memory_;
  double seconds_;
};

}  // namespace sluice
