// YaRN: rotary frequencies of a context that was stretched after training. Spec of OLMoE and relatives, section 6.
#pragma once

#include <vector>

namespace sluice {

struct YarnScaling {
  float factor = 1, beta_fast = 0, beta_slow = 0;
  int original_max_position_embeddings = 0;
};

// inv_j = theta^(-2 j / dim) · ((1 - ramp_j) + ramp_j / factor) for the dim / 2 pairs, ramp rising from pairs that turn
// beta_fast times over the original length to those that turn beta_slow times.
std::vector<double> yarn_frequencies(const YarnScaling& scaling, double theta, int dim);

}  // namespace sluice
