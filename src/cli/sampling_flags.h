// The flags that say how tokens are chosen: the same words on every command that generates.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "generate/sampler.h"

namespace CLI {
class App;
}

namespace sluice::cli {

class SamplingFlags {
 public:
  // `checkpoint_decides`: what the user does not say is the checkpoint's business, so no default is shown.
  void add(CLI::App& command, bool checkpoint_decides = false);
  // The flags that were given, over `defaults`. bad_input if one is outside its range.
  Result<SamplingParams> over(SamplingParams defaults) const;

  std::uint64_t seed = 0;
  std::vector<std::string> stop;

 private:
  SamplingParams params_;
  std::vector<std::function<void(SamplingParams&)>> given_;  // each takes over its flag's value, if there is one
};

}  // namespace sluice::cli
