// See open_queue.h.
#include "io/open_queue.h"

#include <utility>

#include "io/uring_queue.h"

namespace sluice {

Result<OpenedQueue> open_read_queue(ReadSources& sources, ReadEngine wanted, int readers) {
  if (wanted == ReadEngine::ring) {
    Result<std::unique_ptr<ReadQueue>> ring = make_ring_queue(sources, readers);
    if (ring) return OpenedQueue{std::move(*ring), ReadEngine::ring};
    ring.error().hint = "use --io-engine auto or --io-engine threads";
    return tl::unexpected<Error>(std::move(ring.error()));
  }
  return OpenedQueue{make_pread_queue(sources, readers), ReadEngine::threads};
}

const char* engine_name(ReadEngine engine) {
  if (engine == ReadEngine::ring) return "io_uring";
  return engine == ReadEngine::threads ? "threads" : "auto";
}

}  // namespace sluice
