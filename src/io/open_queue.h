// Which of the two read queues a run gets: the one that was asked for, or the one that is faster where it can be had.
#pragma once

#include <memory>

#include "io/read_queue.h"

namespace sluice {

struct OpenedQueue {
  std::unique_ptr<ReadQueue> queue;
  ReadEngine engine = ReadEngine::threads;  // that reads: ring or threads
};

// `readers` pieces of each source at a time. Fails (unsupported) only where the ring was asked for and cannot be used.
Result<OpenedQueue> open_read_queue(ReadSources& sources, ReadEngine wanted, int readers);

const char* engine_name(ReadEngine engine);  // "auto", "io_uring", "threads"

}  // namespace sluice
