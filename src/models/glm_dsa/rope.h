// The frequencies of rotary positions: plain powers of theta, or YaRN's mixture of those and stretched ones.
#pragma once

#include "compute/rope_angles.h"
#include "models/glm_dsa/config.h"

namespace sluice::glm_dsa {

RopeAngles rope_angles(const GlmConfig& config);

}  // namespace sluice::glm_dsa
