// See rope.h.
#include "models/glm_dsa/rope.h"

namespace sluice::glm_dsa {

RopeAngles rope_angles(const GlmConfig& config) {
  const auto theta = static_cast<double>(config.rope_theta);
  if (!config.has_yarn) return {theta, config.qk_rope_head_dim};
  return RopeAngles(yarn_frequencies(config.yarn, theta, config.qk_rope_head_dim));
}

}  // namespace sluice::glm_dsa
