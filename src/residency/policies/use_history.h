// What an expert's past says about its next chance: four estimates of how likely the next row in its layer uses it.
//
//   recent   share of the layer's rows that used it, a row counting 0.9 of the one after it
//   lasting  the same with 0.96
//   latest   the same with 0.2: hardly more than "did the last row use it"
//   lately   1 if one of the last three requests used it
//
// recent and lasting count some past rows more than once: if the step in hand chooses experts as the step before step s
// did, the next one will likely choose as s did. The weight of s grows with the overlap of the two over the layers of
// the step in hand that are behind us, as exp(4 * overlap share). So text that repeats or resembles itself is
// recognised by its routing alone.
//
// A prefill chunk counts as its rows, in unknown order: each estimate decays by as many and gains each expert's share.
// Time: a request costs a pass over the experts of its layer, in arrays. Memory: 32 bytes for each expert.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "residency/policy.h"

namespace sluice {

enum Signal : std::size_t { recent, lasting, latest, lately };
inline constexpr std::size_t kSignals = 4;
using Signals = std::array<float, kSignals>;  // estimates, or weights of them

class UseHistory {
 public:
  explicit UseHistory(PolicyShape shape);

  // Whether a request of this layer begins a step: layers rise within one.
  bool begins_step(int layer) const { return layer <= now_ || now_ < 0; }
  // Rows of a request: its routes are top_k a row.
  double rows_of(std::span<const ExpertUse> uses) const;
  void add(int layer, std::span<const ExpertUse> uses) { add(layer, uses, rows_of(uses)); }
  void add(int layer, std::span<const ExpertUse> uses, double rows);  // for who has asked for its rows already
  // What earlier runs used, [layers * experts], counts in recent and lasting as a few rows before the first one do.
  // Requires: nothing was added.
  void begin_with(std::span<const std::uint32_t> uses);

  // As of the layer's last request. All 0 for an expert that was never used and that nothing is known of.
  Signals signals(int layer, int expert) const;
  bool visited(int layer) const { return layers_[static_cast<std::size_t>(layer)].visits > 0; }

 private:
  static constexpr int kSteps = 64;  // how far back requests are remembered one by one
  struct Layer {
    int visits = 0;
    std::array<double, 3> seen{};  // what an expert used by every row would have in used_
  };

  std::size_t index(int layer, int expert) const { return index_of({layer, expert}, experts_); }
  void compare_with_past(int layer, std::span<const ExpertUse> uses, double rows);
  void count(int layer, std::span<const ExpertUse> uses, double rows);
  void estimate(int layer);

  int layer_count_, experts_, top_k_;
  int now_ = -1;                          // layer of the last request
  int behind_ = 0;                        // requests of the step in hand
  std::array<double, kSteps> overlap_{};  // [n]: share of experts in common with the step n + 1 before, summed
  std::vector<Layer> layers_;
  std::array<std::vector<float>, 3> used_;       // recent, lasting, latest: decayed counts, [layers * experts]
  std::array<std::vector<float>, 2> estimates_;  // recent, lasting: [layers * experts]
  std::vector<std::uint64_t> requests_;          // [layers * experts]; bit n: used n requests before the last
};

}  // namespace sluice
