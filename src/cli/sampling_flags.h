// The flags that say how tokens are chosen: the same words on every command that generates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generate/sampler.h"

namespace CLI {
class App;
}

namespace sluice::cli {

struct SamplingFlags {
  SamplingParams params;
  std::uint64_t seed = 0;
  std::vector<std::string> stop;

  void add(CLI::App& command);
};

}  // namespace sluice::cli
