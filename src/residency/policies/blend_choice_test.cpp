// Blends are judged by what a cache run by them would hold, and the one that hits gets the say.
#include "residency/policies/blend_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

namespace sluice {
namespace {

constexpr int kBlendLayers = 8, kBlendExperts = 32, kBlendTopK = 2;

std::vector<ExpertUse> uses_of(const std::set<int>& experts) {
  std::vector<ExpertUse> uses;
  for (const int expert : experts) uses.push_back({expert, 1});
  return uses;
}

// The value of the last expert that has room, over all layers.
double line_of(const UseHistory& history, const Signals& blend, int slots) {
  std::vector<double> values;
  for (int layer = 0; layer < kBlendLayers; ++layer)
    for (int expert = 0; expert < kBlendExperts; ++expert)
      if (const double value = BlendChoice::value(blend, history.signals(layer, expert)); value > 0)
        values.push_back(value);
  std::ranges::sort(values, std::ranges::greater{});
  return values.size() <= static_cast<std::size_t>(slots) ? 0 : values[static_cast<std::size_t>(slots)];
}

TEST(BlendChoice, CountsWhatIsAboveTheLine) {
  for (const int slots : {5, 40, 1000}) {
    const PolicyShape shape{.layers = kBlendLayers, .experts = kBlendExperts, .slots = slots, .top_k = kBlendTopK};
    UseHistory history(shape);
    BlendChoice choice(shape);
    std::mt19937_64 random(3);
    for (int step = 0; step < 30; ++step) {
      choice.step(history);
      double lines[BlendChoice::kBlends];
      for (std::size_t blend = 0; blend < BlendChoice::kBlends; ++blend)
        lines[blend] = line_of(history, BlendChoice::blends()[blend], slots);
      for (int layer = 0; layer < kBlendLayers; ++layer) {
        std::set<int> experts;
        while (experts.size() < kBlendTopK) experts.insert(static_cast<int>(random() % (1 + random() % kBlendExperts)));
        const std::vector<ExpertUse> uses = uses_of(experts);
        const std::vector<double> before(choice.hits().begin(), choice.hits().end());
        choice.judge(layer, uses, history);
        for (std::size_t blend = 0; blend < BlendChoice::kBlends && step > 0; ++blend) {
          int above = 0, near = 0;  // near: within the width of a bucket
          for (const ExpertUse& use : uses) {
            const double value = BlendChoice::value(BlendChoice::blends()[blend], history.signals(layer, use.expert));
            if (value <= 0) continue;
            if (value > lines[blend] * 1.07)
              ++above;
            else if (value > lines[blend] / 1.07)
              ++near;
          }
          const double gained = choice.hits()[blend] - before[blend];
          EXPECT_GE(gained, above - 1e-9) << "step " << step << " blend " << blend;
          EXPECT_LE(gained, above + near + 1e-9) << "step " << step << " blend " << blend;
        }
        history.add(layer, uses);
      }
    }
  }
}

// Weight of the signals that know the last rows only.
double short_memory(bool sticky) {
  const PolicyShape shape{
      .layers = kBlendLayers, .experts = kBlendExperts, .slots = 2 * kBlendTopK * kBlendLayers, .top_k = kBlendTopK};
  UseHistory history(shape);
  BlendChoice choice(shape);
  std::mt19937_64 random(4);
  std::set<int> current[kBlendLayers];
  for (int step = 0; step < 120; ++step) {
    choice.step(history);
    for (int layer = 0; layer < kBlendLayers; ++layer) {
      std::set<int>& experts = current[layer];
      if (sticky) {  // stays with an expert for a while, then never comes back soon
        if (!experts.empty() && random() % 3 == 0) experts.erase(experts.begin());
        while (experts.size() < kBlendTopK) experts.insert(static_cast<int>(random() % kBlendExperts));
      } else {  // favourites, independent of the step before
        experts.clear();
        while (experts.size() < kBlendTopK) experts.insert(static_cast<int>(random() % (1 + random() % kBlendExperts)));
      }
      choice.judge(layer, uses_of(experts), history);
      history.add(layer, uses_of(experts));
    }
  }
  return choice.weights()[latest] + choice.weights()[lately];
}

TEST(BlendChoice, FollowsWhatHits) {
  const double steady = short_memory(false), sticky = short_memory(true);
  EXPECT_LT(steady, 0.15);
  EXPECT_GT(sticky, steady + 0.1);
}

}  // namespace
}  // namespace sluice
