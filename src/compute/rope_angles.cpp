// See rope_angles.h.
#include "compute/rope_angles.h"

#include "base/check.h"
#include "base/exact_math.h"

namespace sluice {

// theta^(-2 j / dim) = exp(-(2 j / dim) · log theta).
RopeAngles::RopeAngles(double theta, int dim) {
  SLUICE_CHECK(dim > 0 && dim % 2 == 0 && theta > 0);
  const double log_theta = exact_log(theta);
  for (int j = 0; j < dim; j += 2)
    inverse_.push_back(exact_exp(-(static_cast<double>(j) / static_cast<double>(dim)) * log_theta));
}

void RopeAngles::fill(int first, Rows cos, Rows sin) const {
  for (int row = 0; row < cos.rows; ++row)
    for (std::size_t j = 0; j < inverse_.size(); ++j) {
      const auto [sine, cosine] = exact_sine_cosine(static_cast<double>(first + row) * inverse_[j]);
      cos[row][j] = static_cast<float>(cosine);
      sin[row][j] = static_cast<float>(sine);
    }
}

}  // namespace sluice
