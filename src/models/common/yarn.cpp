// See yarn.h.
#include "models/common/yarn.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/exact_math.h"

namespace sluice {

std::vector<double> yarn_frequencies(const YarnScaling& scaling, double theta, int dim) {
  const double log_theta = exact_log(theta), width = dim, factor = static_cast<double>(scaling.factor);
  const auto pair_turning = [&](double turns) {
    const double length = static_cast<double>(scaling.original_max_position_embeddings);
    return width * exact_log(length / (2 * std::numbers::pi * turns)) / (2 * log_theta);
  };
  const double low = std::clamp(std::floor(pair_turning(static_cast<double>(scaling.beta_fast))), 0.0, width - 1);
  double high = std::clamp(std::ceil(pair_turning(static_cast<double>(scaling.beta_slow))), 0.0, width - 1);
  if (high == low) high += 0.001;
  std::vector<double> inverse;
  for (int j = 0; j < dim / 2; ++j) {
    const double ramp = std::clamp((j - low) / (high - low), 0.0, 1.0);
    inverse.push_back(exact_exp(-(2.0 * j / width) * log_theta) * ((1 - ramp) + ramp / factor));
  }
  return inverse;
}

}  // namespace sluice
