// In place of uring_queue.cpp where the build has no liburing. See uring_queue.h.
#include "io/uring_queue.h"

namespace sluice {

std::optional<std::string> ring_refusal() { return "this program was built without liburing"; }

Result<std::unique_ptr<ReadQueue>> make_ring_queue(ReadSources& /*sources*/, int /*depth*/) {
  return fail(ErrorKind::unsupported, "io_uring cannot be used: " + *ring_refusal());
}

}  // namespace sluice
