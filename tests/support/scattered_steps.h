// Steps of a trunk chosen at random: which are pinned must not matter to what a walker sees.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace sluice::test {

// `count` of the steps [0, steps), ascending; the same for the same numbers.
inline std::vector<int> scattered_steps(int steps, int count) {
  std::vector<int> chosen(static_cast<std::size_t>(steps));
  std::iota(chosen.begin(), chosen.end(), 0);
  std::mt19937_64 random(static_cast<std::uint64_t>(count));
  std::shuffle(chosen.begin(), chosen.end(), random);
  chosen.resize(static_cast<std::size_t>(count));
  std::ranges::sort(chosen);
  return chosen;
}

}  // namespace sluice::test
