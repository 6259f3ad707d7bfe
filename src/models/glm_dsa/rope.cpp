// See rope.h. YaRN: spec of OLMoE and relatives, section 6.
#include "models/glm_dsa/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/exact_math.h"

namespace sluice::glm_dsa {

namespace {

// inv_j = b^(-2j/d) · ((1 - ramp_j) + ramp_j / s), ramp rising from pairs that turn beta_fast times over the original
// length to those that turn beta_slow times.
std::vector<double> yarn_frequencies(const Yarn& yarn, double theta, int dim) {
  const double log_theta = exact_log(theta), width = dim, factor = static_cast<double>(yarn.factor);
  const auto pair_turning = [&](double turns) {
    const double length = static_cast<double>(yarn.original_max_position_embeddings);
    return width * exact_log(length / (2 * std::numbers::pi * turns)) / (2 * log_theta);
  };
  const double low = std::clamp(std::floor(pair_turning(static_cast<double>(yarn.beta_fast))), 0.0, width - 1);
  double high = std::clamp(std::ceil(pair_turning(static_cast<double>(yarn.beta_slow))), 0.0, width - 1);
  if (high == low) high += 0.001;
  std::vector<double> inverse;
  for (int j = 0; j < dim / 2; ++j) {
    const double ramp = std::clamp((j - low) / (high - low), 0.0, 1.0);
    inverse.push_back(exact_exp(-(2.0 * j / width) * log_theta) * ((1 - ramp) + ramp / factor));
  }
  return inverse;
}

}  // namespace

RopeAngles rope_angles(const GlmConfig& config) {
  const auto theta = static_cast<double>(config.rope_theta);
  if (!config.has_yarn) return {theta, config.qk_rope_head_dim};
  return RopeAngles(yarn_frequencies(config.yarn, theta, config.qk_rope_head_dim));
}

}  // namespace sluice::glm_dsa
