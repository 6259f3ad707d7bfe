// A read queue on io_uring: one thread keeps several reads in flight in the kernel.
//
// Same promises and same schedule as the pool of threads. Not every kernel has it and many containers forbid it, so
// that whoever wants it asks; a build without liburing has the answer too.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "io/read_queue.h"

namespace sluice {

// Nothing if this process can use io_uring, else why not ("Function not implemented").
std::optional<std::string> ring_refusal();

// `depth` pieces of each source are read at a time; the sources must outlive the queue. unsupported: io_uring cannot be
// used, or the kernel does not know one of the files.
Result<std::unique_ptr<ReadQueue>> make_ring_queue(ReadSources& sources, int depth);

}  // namespace sluice
