// Reads runs of bytes from the files of a checkpoint, one after the other, into memory of its own.
//
// For work that goes through a checkpoint from end to end with several threads: each has a reader. Waits for its reads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "checkpoint/block_layout.h"
#include "io/aligned.h"
#include "io/read_queue.h"

namespace sluice {

class SourceReader {
 public:
  // `files` must outlive the reader.
  explicit SourceReader(const Files& files) : queue_(make_pread_queue(files, 0)) {}

  // The bytes are good until the next read.
  Result<std::span<const std::byte>> read(const FileRun& run);

 private:
  PageArena room_;  // grows to the longest run
  Landings landings_;
  std::unique_ptr<ReadQueue> queue_;  // after what its requests write to
};

}  // namespace sluice
