// The signals are their definitions, computed here from the whole history of every expert.
#include "residency/policies/use_history.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

namespace sluice {
namespace {

constexpr int kHistoryLayers = 5, kHistoryExperts = 16, kHistoryTopK = 3;

struct SeenRequest {
  double rows = 1;
  std::vector<ExpertUse> uses;
  double rows_of(int expert) const {
    for (const ExpertUse& use : uses)
      if (use.expert == expert) return use.rows;
    return 0;
  }
  bool marked(int expert) const { return rows_of(expert) > 0 && 4 * rows_of(expert) >= rows; }
};

// requests[layer] from the first; the step in hand is behind for `behind` layers.
struct Naive {
  std::vector<SeenRequest> requests[kHistoryLayers];
  std::vector<int> step;             // layers of the step in hand
  std::vector<std::uint32_t> known;  // uses before the first request, or empty

  // Of the rows of earlier runs, which counted all experts of a layer once for each row that chose them.
  double known_share(int layer, int expert) const {
    double all = 0;
    for (int other = 0; other < kHistoryExperts; ++other) all += known[index_of({layer, other}, kHistoryExperts)];
    return known[index_of({layer, expert}, kHistoryExperts)] * kHistoryTopK / all;
  }
  // Overlap of the step in hand with the one `back` before.
  double overlap(std::size_t back) const {
    double sum = 0;
    for (const int layer : step) {
      const auto& all = requests[layer];
      if (all.size() <= back || all.back().rows > 4) continue;
      const SeenRequest& now = all.back();
      const SeenRequest& then = all[all.size() - 1 - back];
      double common = 0;
      for (const ExpertUse& use : now.uses) common += then.marked(use.expert) ? 1 : 0;
      sum += common / static_cast<double>(now.uses.size());
    }
    return sum / (static_cast<double>(step.size()) + kHistoryLayers / 2.0);
  }
  double share(int layer, int expert, double decay, bool echo) const {
    double used = 0, seen = 0, rows_since = 0;
    const auto& all = requests[layer];
    for (std::size_t back = 0; back < all.size(); ++back) {
      const SeenRequest& request = all[all.size() - 1 - back];
      // The request's rows, one after the other, each using its share.
      const double weight =
          std::pow(decay, rows_since) * (1 - std::pow(decay, request.rows)) / (1 - decay) / request.rows;
      used += weight * request.rows_of(expert);
      seen += weight * request.rows;
      rows_since += request.rows;
      if (!echo || back >= 63) continue;
      const double more = (std::exp(4 * overlap(back + 1)) - 1) * std::pow(decay, static_cast<double>(back));
      used += request.marked(expert) ? more : 0;
      seen += more;
    }
    if (!known.empty() && decay > 0.5) {  // as many rows of it, before the first request
      const double weight = (decay > 0.95 ? 8 : 4) * std::pow(decay, rows_since);
      used += weight * known_share(layer, expert);
      seen += weight;
    }
    return used / seen;
  }
};

void expect_definitions(const std::vector<std::uint32_t>& known) {
  UseHistory history({.layers = kHistoryLayers, .experts = kHistoryExperts, .slots = 10, .top_k = kHistoryTopK});
  Naive naive;
  naive.known = known;
  if (!known.empty()) history.begin_with(known);
  std::mt19937_64 random(7);
  for (int step = 0; step < 100; ++step) {
    naive.step.clear();
    const int rows = step == 0 && known.empty() ? 29 : step % 17 == 5 ? 3 : step % 17 == 11 ? 9 : 1;
    for (int layer = step % 3 == 0 ? 0 : 1; layer < kHistoryLayers; ++layer) {
      EXPECT_EQ(history.begins_step(layer), naive.step.empty());
      std::vector<int> counts(kHistoryExperts, 0);
      for (int row = 0; row < rows; ++row) {
        std::set<int> chosen;
        while (chosen.size() < kHistoryTopK)
          chosen.insert(static_cast<int>(random() % (1 + random() % kHistoryExperts)));
        for (const int expert : chosen) ++counts[static_cast<std::size_t>(expert)];
      }
      SeenRequest request{static_cast<double>(rows), {}};
      for (int expert = 0; expert < kHistoryExperts; ++expert)
        if (counts[static_cast<std::size_t>(expert)] > 0)
          request.uses.push_back({expert, counts[static_cast<std::size_t>(expert)]});
      EXPECT_EQ(history.rows_of(request.uses), rows);
      history.add(layer, request.uses);
      naive.requests[layer].push_back(request);
      naive.step.push_back(layer);
      for (int expert = 0; expert < kHistoryExperts; ++expert) {
        const Signals signals = history.signals(layer, expert);
        ASSERT_NEAR(signals[recent], naive.share(layer, expert, 0.9, true), 2e-5) << "step " << step;
        ASSERT_NEAR(signals[lasting], naive.share(layer, expert, 0.96, true), 2e-5) << "step " << step;
        ASSERT_NEAR(signals[latest], naive.share(layer, expert, 0.2, false), 2e-5) << "step " << step;
        bool lately_used = false;
        const auto& all = naive.requests[layer];
        for (std::size_t back = 0; back < 3 && back < all.size(); ++back)
          lately_used = lately_used || all[all.size() - 1 - back].marked(expert);
        ASSERT_EQ(signals[lately], lately_used ? 1.0f : 0.0f);
      }
    }
  }
}

TEST(UseHistory, SignalsAreTheirDefinitions) { expect_definitions({}); }

// What earlier runs used counts as 4 rows of it in recent and as 8 in lasting, and fades as they would.
TEST(UseHistory, WhatWasKnownFades) {
  std::vector<std::uint32_t> known;
  for (int layer = 0; layer < kHistoryLayers; ++layer)
    for (int expert = 0; expert < kHistoryExperts; ++expert)
      known.push_back(static_cast<std::uint32_t>(layer + expert * 5));
  expect_definitions(known);
  UseHistory history({.layers = 2, .experts = 4, .slots = 6, .top_k = 2});
  history.begin_with(std::vector<std::uint32_t>{0, 0, 0, 0, 30'000, 10'000, 40'000, 0});
  EXPECT_EQ(history.signals(0, 2), Signals{});  // nothing is known of the layer
  EXPECT_FALSE(history.visited(1));
  EXPECT_EQ(history.signals(1, 0), (Signals{0.75f, 0.75f, 0, 0}));
  EXPECT_EQ(history.signals(1, 2), (Signals{1, 1, 0, 0}));
  EXPECT_EQ(history.signals(1, 3), Signals{});
}

// A text that repeats itself every four steps: the expert of the next step stands out.
TEST(UseHistory, RecognisesARepetition) {
  UseHistory history({.layers = 20, .experts = 8, .slots = 10, .top_k = 1});
  for (int step = 0; step < 16; ++step)
    for (int layer = 0; layer < 20; ++layer) history.add(layer, std::vector<ExpertUse>{{step % 4, 1}});
  const int last = 19;
  const Signals next = history.signals(last, 0),
                others[] = {history.signals(last, 1), history.signals(last, 2), history.signals(last, 3)};
  for (const Signals& other : others) EXPECT_GT(next[recent], 1.5f * other[recent]);
}

}  // namespace
}  // namespace sluice
