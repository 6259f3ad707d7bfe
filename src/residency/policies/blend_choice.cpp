// See blend_choice.h.
#include "residency/policies/blend_choice.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sluice {

namespace {

// Weights of recent, lasting, latest, lately.
constexpr std::array<Signals, BlendChoice::kBlends> kChoices = {{{1.0f, 0.0f, 0.0f, 0.0f},
                                                                 {0.9f, 0.0f, 0.1f, 0.0f},
                                                                 {0.6f, 0.0f, 0.4f, 0.0f},
                                                                 {0.3f, 0.0f, 0.7f, 0.0f},
                                                                 {0.0f, 1.0f, 0.0f, 0.0f},
                                                                 {0.0f, 0.9f, 0.1f, 0.0f},
                                                                 {0.0f, 0.8f, 0.2f, 0.0f},
                                                                 {0.0f, 0.8f, 0.0f, 0.2f}}};
constexpr std::size_t kFirst = 2;      // what to begin with, when only the last few rows are known
constexpr double kFirstHits = 0.1;     // its lead, in hits for each slot
constexpr double kMemory = 0.95;       // a hit counts so much a step later
constexpr double kNoise = 0.3;         // hits differ by chance by about this times their root
constexpr int kWatchedExperts = 8192;  // at most about so many are looked at in a step

}  // namespace

std::span<const Signals> BlendChoice::blends() { return kChoices; }

BlendChoice::BlendChoice(PolicyShape shape) : shape_(shape), histogram_(kBlends * kBuckets, 0) {
  const std::int64_t all = std::int64_t{shape.layers} * shape.experts;
  stride_ = static_cast<int>(std::max<std::int64_t>(1, (all + kWatchedExperts - 1) / kWatchedExperts));
  hits_[kFirst] = kFirstHits * shape.slots;
  mix();
}

// The exponent and four bits of the mantissa; 0 is below every value above 2^-31.
int BlendChoice::bucket(double value) {
  if (value <= 0) return 0;
  const auto bits = static_cast<int>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 19);
  constexpr int kOne = (127 << 4) + 16;  // above it: 2 and more
  return std::clamp(bits - kOne + kBuckets - 1, 0, kBuckets - 1);
}

void BlendChoice::step(const UseHistory& history) {
  for (double& hits : hits_) hits *= kMemory;
  draw_lines(history);
  mix();
}

void BlendChoice::judge(int layer, std::span<const ExpertUse> uses, const UseHistory& history) {
  for (const ExpertUse& use : uses) {
    const Signals signals = history.signals(layer, use.expert);
    for (std::size_t blend = 0; blend < kBlends; ++blend) {
      const double mine = value(kChoices[blend], signals);
      if (mine <= 0) continue;
      const int at = bucket(mine);
      const Line& line = lines_[blend];
      if (at > line.bucket)
        hits_[blend] += 1;
      else if (at == line.bucket)
        hits_[blend] += line.inside;
    }
  }
}

void BlendChoice::draw_lines(const UseHistory& history) {
  std::ranges::fill(histogram_, 0u);
  int visited = 0, watched = 0;
  for (int layer = 0; layer < shape_.layers; ++layer) {
    if (!history.visited(layer)) continue;
    if (visited++ % stride_ != 0) continue;
    ++watched;
    for (int expert = 0; expert < shape_.experts; ++expert) {
      const Signals signals = history.signals(layer, expert);
      if (signals[recent] <= 0 && signals[lasting] <= 0) continue;
      for (std::size_t blend = 0; blend < kBlends; ++blend)
        ++histogram_[blend * kBuckets + static_cast<std::size_t>(bucket(value(kChoices[blend], signals)))];
    }
  }
  if (watched == 0) return;
  const double room = static_cast<double>(shape_.slots) * watched / visited;
  for (std::size_t blend = 0; blend < kBlends; ++blend) {
    const std::uint32_t* const counts = &histogram_[blend * kBuckets];
    double above = 0;
    int at = kBuckets - 1;
    for (; at >= 0 && above + counts[at] < room; --at) above += counts[at];
    lines_[blend] = {at, at < 0 ? 1 : (room - above) / counts[at]};
  }
}

void BlendChoice::mix() {
  const double best = *std::ranges::max_element(hits_);
  const double noise = kNoise * std::sqrt(best + 1);
  std::array<double, kBlends> say{};
  double all = 0;
  for (std::size_t blend = 0; blend < kBlends; ++blend) all += say[blend] = std::exp((hits_[blend] - best) / noise);
  weights_.fill(0);
  for (std::size_t blend = 0; blend < kBlends; ++blend)
    for (std::size_t signal = 0; signal < kSignals; ++signal)
      weights_[signal] += static_cast<float>(say[blend] / all) * kChoices[blend][signal];
}

}  // namespace sluice
