// See pin_order.h.
#include "residency/pin_order.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sluice {

namespace {

// The k-th number of van der Corput's sequence, 1/2, 1/4, 3/4, 1/8, ...: the digits of k in base two, mirrored.
double mirrored(std::uint64_t k) {
  double value = 0, digit = 0.5;
  for (; k > 0; k /= 2, digit /= 2)
    if (k % 2 == 1) value += digit;
  return value;
}

// Of `steps`, in the order of the walk.
std::vector<int> spread(std::vector<int> steps, std::span<const std::uint64_t> step_bytes) {
  std::vector<double> middles;  // of each step, counted in bytes along the walk
  double total = 0;
  for (const int step : steps) {
    const auto bytes = static_cast<double>(step_bytes[static_cast<std::size_t>(step)]);
    middles.push_back(total + bytes / 2);
    total += bytes;
  }
  std::vector<int> order;
  for (std::uint64_t k = 1; !steps.empty(); ++k) {
    const double wanted = mirrored(k) * total;
    const auto nearest =
        std::ranges::min_element(middles, {}, [&](double middle) { return std::abs(middle - wanted); }) -
        middles.begin();
    order.push_back(steps[static_cast<std::size_t>(nearest)]);
    steps.erase(steps.begin() + nearest);
    middles.erase(middles.begin() + nearest);
  }
  return order;
}

}  // namespace

PinOrder pin_order(std::span<const std::uint64_t> step_bytes) {
  PinOrder order;
  order.steps.resize(step_bytes.size());
  std::iota(order.steps.begin(), order.steps.end(), 0);
  const auto size = [&](int step) { return step_bytes[static_cast<std::size_t>(step)]; };
  std::ranges::stable_sort(order.steps, std::ranges::greater{}, size);
  const std::uint64_t total = std::accumulate(step_bytes.begin(), step_bytes.end(), std::uint64_t{0});
  std::uint64_t outsized_bytes = 0;
  auto usual = order.steps.begin();
  while (usual != order.steps.end() && outsized_bytes + size(*usual) <= total / 10) outsized_bytes += size(*usual++);
  if (usual == order.steps.end()) return order;
  order.usual_step = size(*usual);
  while (usual != order.steps.begin() && size(*(usual - 1)) == order.usual_step) --usual;  // no larger than the usual
  std::vector<int> others(usual, order.steps.end());
  std::ranges::sort(others);
  std::ranges::copy(spread(std::move(others), step_bytes), usual);
  return order;
}

}  // namespace sluice
