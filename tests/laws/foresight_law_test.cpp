// Routers that are asked before their time answer the same whatever the rows' company and the memory, and whether they
// are asked changes no bit.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "support/engine/law_options.h"
#include "support/engine/recorded_run.h"
#include "support/golden_models.h"

namespace sluice::test {
namespace {

constexpr int kTokens = 12;

struct Heard {
  std::vector<std::vector<float>> logits;
  std::map<std::tuple<int, int, AskedBefore>, std::vector<int>> names;  // by position, layer and moment
  std::map<std::pair<int, int>, std::vector<int>> used;                 // by position and layer
};

class ForesightLaw : public testing::TestWithParam<const char*> {
 protected:
  static std::string model() {
    return (std::filesystem::path(SLUICE_SOURCE_DIR) / "tests/golden" / GetParam()).string();
  }
  // How many of the first layers with experts a table routes.
  static std::size_t table_layers() {
    const std::string name = GetParam();
    return name == "deepseek_v4/a" ? 2 : name == "deepseek_v4/b" ? 1 : 0;
  }
  static EngineOptions wide() {
    EngineOptions options = law_options();
    options.prefill_chunk = kTokens;
    return options;
  }
  static Heard run(std::uint64_t budget, int chunk, bool foresee) {
    EngineOptions options = wide();
    options.memory_bytes = budget;
    Runner runner(model(), options);
    Heard heard;
    int first = 0;
    if (foresee)
      runner.engine().foresee([&](int layer, AskedBefore when, const ExpertRanking& named) {
        for (int row = 0; row < named.rows; ++row)
          heard.names[{first + row, layer, when}].assign(named.of(row).begin(), named.of(row).end());
      });
    std::vector<int> tokens;
    for (int token = 0; token < kTokens; ++token)
      tokens.push_back((3 + token * 37) % runner.engine().config().vocab_size());
    for (; first < kTokens; first += chunk)
      runner.feed(std::span(tokens).subspan(static_cast<std::size_t>(first),
                                            static_cast<std::size_t>(std::min(chunk, kTokens - first))),
                  chunk);
    heard.logits = runner.record().logits;
    for (int position = 0; position < kTokens; ++position) {
      const auto& layers = runner.record().routes[static_cast<std::size_t>(position)];
      for (std::size_t layer = 0; layer < layers.size(); ++layer)
        for (const Route& route : layers[layer])
          heard.used[{position, static_cast<int>(layer)}].push_back(route.expert);
    }
    return heard;
  }
};

TEST_P(ForesightLaw, ChangesNoBitAndDependsOnNothing) {
  const std::uint64_t least = minimum_budget(model(), wide()), most = resident_budget(model(), wide());
  const Heard one = run(most, 1, true), several = run(most, 5, true), tight = run(least, 1, true);
  EXPECT_EQ(one.logits, run(most, 1, false).logits);
  EXPECT_EQ(several.logits, run(most, 5, false).logits);
  EXPECT_EQ(tight.logits, one.logits);
  EXPECT_EQ(several.names, one.names);
  EXPECT_EQ(tight.names, one.names);
  EXPECT_EQ(several.used, one.used);
}

// All layers with a router are asked about both moments, except the first of all; and the answers come near to what is
// used without being it.
TEST_P(ForesightLaw, EveryRouterIsAskedTwice) {
  const Heard heard = run(resident_budget(model(), wide()), kTokens, true);
  std::set<int> with_experts, of_attention, of_last;
  for (const auto& [place, experts] : heard.used) with_experts.insert(place.second);
  std::size_t named = 0, of = 0;
  for (const auto& [place, names] : heard.names) {
    const auto& [position, layer, when] = place;
    (when == AskedBefore::attention ? of_attention : of_last).insert(layer);
    const std::vector<int>& used = heard.used.at({position, layer});
    EXPECT_GT(names.size(), used.size());
    of += used.size();
    for (std::size_t name = 0; name < used.size(); ++name) named += std::ranges::count(used, names[name]) > 0 ? 1 : 0;
  }
  EXPECT_EQ(with_experts.size(), of_attention.size() + table_layers());
  EXPECT_EQ(of_attention.size(), of_last.size() + (of_attention.contains(0) ? 1 : 0));
  EXPECT_LT(named, of);
  EXPECT_GT(named, of / 4);
}

INSTANTIATE_TEST_SUITE_P(Models, ForesightLaw, testing::ValuesIn(kGoldenModels), golden_model_name);

}  // namespace
}  // namespace sluice::test
