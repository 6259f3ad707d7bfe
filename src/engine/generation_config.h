// How the makers of a checkpoint want tokens to be chosen: generation_config.json beside the weights.
#pragma once

#include <string>

#include "base/result.h"
#include "generate/sampler.h"

namespace sluice {

// temperature, top_p and top_k of the file; what it does not say, and all of it where there is no file, is temperature
// 1 and no truncation. A file that says do_sample false asks for temperature 0. bad_input if a value is none.
Result<SamplingParams> recommended_sampling(const std::string& directory);

}  // namespace sluice
