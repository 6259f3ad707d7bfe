// Learns while running how to weigh the signals of an expert's past, by what each weighing would have hit.
//
// No single one is right: with room for a tenth of a token only long experience pays, with room for a whole token what
// the last one used does, and it differs between models. So a few blends compete. For each, the experts it values most,
// as many as there are slots, are what a cache run by it would hold, so a used expert is its hit if its value was above
// the value of the last of those. These lines are drawn anew at each step, from histograms of the values over
// some of the layers; hits count 0.95 of those a step later. The blends in use are mixed by their hits: those within
// the noise of the best share the say. Time: a pass over at most a few thousand experts a step, and a handful of
// multiplications a request.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "residency/policies/use_history.h"

namespace sluice {

class BlendChoice {
 public:
  explicit BlendChoice(PolicyShape shape);

  // A step begins: draws the lines and mixes the blends.
  void step(const UseHistory& history);
  // What of a request each blend would have hit. Called before the history knows of it.
  void judge(int layer, std::span<const ExpertUse> uses, const UseHistory& history);

  const Signals& weights() const { return weights_; }
  static double value(const Signals& weights, const Signals& signals) {
    double sum = 0;
    for (std::size_t signal = 0; signal < kSignals; ++signal) sum += double{weights[signal]} * double{signals[signal]};
    return sum;
  }

  static constexpr std::size_t kBlends = 8;
  // hits, decayed, by blend; for tests and reports.
  std::span<const double> hits() const { return hits_; }
  static std::span<const Signals> blends();

 private:
  // Values in steps of a sixteenth of a factor of two.
  static constexpr int kBuckets = 512;
  static int bucket(double value);
  struct Line {
    int bucket = -1;    // values above it are in; -1: all that have any are
    double inside = 1;  // share of the bucket itself that is in
  };
  void draw_lines(const UseHistory& history);
  void mix();

  PolicyShape shape_;
  int stride_ = 1;  // every stride-th layer stands for all
  std::array<double, kBlends> hits_{};
  std::array<Line, kBlends> lines_{};
  std::vector<std::uint32_t> histogram_;  // [kBlends * kBuckets]
  Signals weights_{};
};

}  // namespace sluice
