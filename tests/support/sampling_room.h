// Room to sample in, for tests.
#pragma once

#include "compute/reference.h"
#include "generate/sampler.h"

namespace sluice::test {

// Shared by all samplers, as in an engine: what one leaves behind must not matter to the next.
inline SamplingRoom& sampling_room() {
  static ReferenceOps ops;
  static SamplingRoom shared{ops};
  return shared;
}

}  // namespace sluice::test
