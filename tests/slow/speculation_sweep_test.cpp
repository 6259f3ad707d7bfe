// A thousand random prompts over all families, greedy and sampled, with drafts of every kind: each answer is the one
// without drafts.
#include <gtest/gtest.h>

#include <random>

#include "engine/kept_sequences.h"
#include "support/engine/requests.h"
#include "support/golden_models.h"

namespace sluice::test {
namespace {

constexpr unsigned kPrompts = 1000;

std::unique_ptr<Engine> open(const char* name, Speculate how, int chunk) {
  EngineOptions options;
  options.speculate = how;
  options.prefill_chunk = chunk;
  return open_golden(name, options);
}

TEST(SpeculationSweep, AThousandPromptsAreAnsweredAlike) {
  std::size_t drafted = 0, accepted = 0;
  const std::size_t models = std::size(kGoldenModels);
  for (std::size_t model = 0; model < models; ++model) {
    const char* const name = kGoldenModels[model];
    SCOPED_TRACE(name);
    const auto plain = open(name, Speculate::off, 32), lookup = open(name, Speculate::lookup, 32),
               automatic = open(name, Speculate::automatic, 9);
    for (unsigned seed = static_cast<unsigned>(model); seed < kPrompts; seed += static_cast<unsigned>(models)) {
      std::mt19937 random(seed);
      Request request = random_request(random, seed % 3 == 0 ? 200 : 5);
      request.max_tokens = 1 + static_cast<int>(random() % 48);
      if (request.sampling.temperature > 0 && seed % 2 == 0) request.sampling.temperature = 0.3;
      const Answer wanted = alone(*plain, request);
      std::vector<int> text = request.prompt;
      text.insert(text.end(), wanted.ids.begin(), wanted.ids.end());
      Request drafting = request;
      if (seed % 2 == 0)
        drafting.drafts = [&](std::span<const int> known, int most) {
          std::vector<int> drafts(text.begin() + static_cast<std::ptrdiff_t>(known.size()), text.end());
          drafts.resize(std::min(drafts.size(), static_cast<std::size_t>(most)));
          for (int& id : drafts)
            if (random() % 4 == 0) id = static_cast<int>(random() % 200);
          return drafts;
        };
      for (Engine* const engine : {lookup.get(), automatic.get()}) {
        engine->kept().clear();
        const auto answered = run_alone(*engine, drafting);
        ASSERT_EQ(answered->answer, wanted) << "seed " << seed;
        drafted += answered->generation.drafted;
        accepted += answered->generation.accepted;
      }
      plain->kept().clear();
    }
  }
  std::printf("%zu of %zu drafts were right\n", accepted, drafted);
  EXPECT_GT(accepted, 500u);
  EXPECT_GT(drafted, accepted);
}

}  // namespace
}  // namespace sluice::test
