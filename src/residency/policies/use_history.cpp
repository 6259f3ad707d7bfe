// See use_history.h.
#include "residency/policies/use_history.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace sluice {

namespace {

constexpr std::array<double, 3> kDecays = {0.9, 0.96, 0.2};  // recent, lasting, latest
constexpr std::array<double, 2> kKnownRows = {4, 8};         // recent, lasting: what earlier runs count
constexpr double kOverlapWeight = 4;
constexpr double kDoubtLayers = 0.5;  // overlaps of this share of the layers are taken to be 0 until seen
constexpr double kFewRows = 4;        // a batch this small is compared with others
constexpr double kShareOfMany = 4;    // in a larger one, an expert of fewer than rows / 4 did not characterise it

}  // namespace

UseHistory::UseHistory(PolicyShape shape)
    : layer_count_(shape.layers),
      experts_(shape.experts),
      top_k_(std::max(1, shape.top_k)),
      layers_(static_cast<std::size_t>(shape.layers)),
      requests_(static_cast<std::size_t>(shape.layers) * static_cast<std::size_t>(shape.experts), 0) {
  for (auto& used : used_) used.assign(requests_.size(), 0);
  for (auto& estimates : estimates_) estimates.assign(requests_.size(), 0);
}

void UseHistory::begin_with(std::span<const std::uint32_t> uses) {
  for (int layer = 0; layer < layer_count_; ++layer) {
    const std::span<const std::uint32_t> mine = uses.subspan(index(layer, 0), static_cast<std::size_t>(experts_));
    const double rows = std::accumulate(mine.begin(), mine.end(), 0.0) / top_k_;
    if (rows == 0) continue;
    for (std::size_t kind = 0; kind < kKnownRows.size(); ++kind) {
      layers_[static_cast<std::size_t>(layer)].seen[kind] = kKnownRows[kind];
      for (int expert = 0; expert < experts_; ++expert) {
        const double share = std::min(1.0, mine[static_cast<std::size_t>(expert)] / rows);
        used_[kind][index(layer, expert)] = static_cast<float>(share * kKnownRows[kind]);
        estimates_[kind][index(layer, expert)] = static_cast<float>(share);
      }
    }
  }
}

double UseHistory::rows_of(std::span<const ExpertUse> uses) const {
  double routes = 0;
  for (const ExpertUse& use : uses) routes += use.rows;
  return std::max(1.0, routes / top_k_);
}

void UseHistory::add(int layer, std::span<const ExpertUse> uses, double rows) {
  if (begins_step(layer)) {
    overlap_.fill(0);
    behind_ = 0;
  }
  now_ = layer;
  ++behind_;
  ++layers_[static_cast<std::size_t>(layer)].visits;
  compare_with_past(layer, uses, rows);
  count(layer, uses, rows);
  estimate(layer);
}

void UseHistory::compare_with_past(int layer, std::span<const ExpertUse> uses, double rows) {
  std::uint64_t* const requests = &requests_[index(layer, 0)];
  if (rows <= kFewRows && !uses.empty()) {
    const double share = 1.0 / static_cast<double>(uses.size());
    for (const ExpertUse& use : uses)
      for (std::uint64_t past = requests[use.expert]; past != 0; past &= past - 1)
        overlap_[static_cast<std::size_t>(std::countr_zero(past))] += share;
  }
  for (int expert = 0; expert < experts_; ++expert) requests[expert] <<= 1;
  for (const ExpertUse& use : uses)
    if (use.rows * kShareOfMany >= rows) requests[use.expert] |= 1;
}

void UseHistory::count(int layer, std::span<const ExpertUse> uses, double rows) {
  Layer& mine = layers_[static_cast<std::size_t>(layer)];
  for (std::size_t kind = 0; kind < used_.size(); ++kind) {
    // As if each row of the batch had used its share of every expert, one row after the other.
    const double decay = std::pow(kDecays[kind], rows);
    const double gain = (1 - decay) / (1 - kDecays[kind]) / rows;
    float* const used = &used_[kind][index(layer, 0)];
    for (int expert = 0; expert < experts_; ++expert) used[expert] *= static_cast<float>(decay);
    for (const ExpertUse& use : uses) used[use.expert] += static_cast<float>(use.rows * gain);
    mine.seen[kind] = mine.seen[kind] * decay + rows * gain;
  }
}

void UseHistory::estimate(int layer) {
  const Layer& mine = layers_[static_cast<std::size_t>(layer)];
  // How much more than once the request n before this one counts: the one before it was overlap_[n] like this one.
  std::array<std::array<float, kSteps>, 2> more{};
  std::array<double, 2> seen = {mine.seen[recent], mine.seen[lasting]};
  std::uint64_t alike = 0;
  std::array<double, 2> decayed = {1, 1};
  for (std::size_t past = 0; past + 1 < kSteps; ++past) {
    const double overlap = overlap_[past] / (behind_ + kDoubtLayers * layer_count_);
    const double weight = overlap > 0 ? std::exp(kOverlapWeight * overlap) - 1 : 0;
    if (weight > 0) alike |= std::uint64_t{1} << past;
    for (std::size_t kind = 0; kind < 2; ++kind) {
      more[kind][past] = static_cast<float>(weight * decayed[kind]);
      seen[kind] += weight * decayed[kind];
      decayed[kind] *= kDecays[kind];
    }
  }
  const std::uint64_t* const requests = &requests_[index(layer, 0)];
  for (std::size_t kind = 0; kind < 2; ++kind) {
    const float* const used = &used_[kind][index(layer, 0)];
    float* const estimates = &estimates_[kind][index(layer, 0)];
    const auto scale = static_cast<float>(1 / seen[kind]);
    for (int expert = 0; expert < experts_; ++expert) {
      float sum = used[expert];
      for (std::uint64_t past = requests[expert] & alike; past != 0; past &= past - 1)
        sum += more[kind][static_cast<std::size_t>(std::countr_zero(past))];
      estimates[expert] = sum * scale;
    }
  }
}

Signals UseHistory::signals(int layer, int expert) const {
  const std::size_t at = index(layer, expert);
  const double seen = layers_[static_cast<std::size_t>(layer)].seen[latest];
  Signals found{};
  found[recent] = estimates_[0][at];
  found[lasting] = estimates_[1][at];
  found[latest] = seen > 0 ? used_[2][at] / static_cast<float>(seen) : 0;
  found[lately] = (requests_[at] & 7) != 0 ? 1.0f : 0.0f;
  return found;
}

}  // namespace sluice
