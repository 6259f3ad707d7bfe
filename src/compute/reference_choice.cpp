// What is chosen by, and chosen: see reference.h, and "Ties", "indexer choice" and "router" of docs/numerics.md.
#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "base/exact_math.h"
#include "compute/reference.h"

namespace sluice {

namespace {

// The `count` columns of the largest numbers, rising; ties go to the lower column.
std::vector<int> largest(std::span<const float> numbers, int count) {
  std::vector<int> columns(numbers.size());
  std::iota(columns.begin(), columns.end(), 0);
  std::ranges::stable_sort(columns, std::greater<>(),
                           [&](int column) { return numbers[static_cast<std::size_t>(column)]; });
  columns.resize(static_cast<std::size_t>(count));
  std::ranges::sort(columns);
  return columns;
}

float nan_as_least(float x) { return x == x ? x : -std::numeric_limits<float>::infinity(); }

}  // namespace

void ReferenceOps::choose(const Choice& choice) {
  for (int row = 0; row < choice.x.rows; ++row) {
    std::vector<float> numbers(choice.x[row].begin(), choice.x[row].end());
    for (std::size_t column = 0; column < choice.bias.size(); ++column)
      numbers[column] = numbers[column] + choice.bias[column];
    std::ranges::transform(numbers, numbers.begin(), nan_as_least);
    if (choice.groups > 1) {
      const std::size_t width = numbers.size() / static_cast<std::size_t>(choice.groups);
      std::vector<float> worth;
      for (std::size_t first = 0; first < numbers.size(); first += width) {
        std::vector<float> group(numbers.begin() + static_cast<std::ptrdiff_t>(first),
                                 numbers.begin() + static_cast<std::ptrdiff_t>(first + width));
        std::ranges::sort(group, std::greater<>());
        worth.push_back(nan_as_least(group[0] + group[1]));
      }
      const std::vector<int> kept = largest(worth, choice.groups_kept);
      for (std::size_t column = 0; column < numbers.size(); ++column)
        if (!std::ranges::binary_search(kept, static_cast<int>(column / width)))
          numbers[column] = -std::numeric_limits<float>::infinity();
    }
    const std::vector<int> chosen = largest(numbers, choice.count);
    std::ranges::copy(chosen, choice.chosen.begin() + static_cast<std::ptrdiff_t>(row) * choice.count);
  }
}

void ReferenceOps::exp_weights(std::span<const float> x, float largest_x, double divisor, std::span<double> y) {
  for (std::size_t i = 0; i < x.size(); ++i)
    y[i] = exact_exp((static_cast<double>(x[i]) - static_cast<double>(largest_x)) / divisor);
}

}  // namespace sluice
