// The small numbers that the specification gives for single formulas of DeepSeek-V4: 3.2, 3.4, 3.8, and the sizes of
// states (4).
#include <gtest/gtest.h>

#include <vector>

#include "compute/reference.h"
#include "models/common/yarn.h"
#include "models/deepseek_v4/hyper_connections.h"
#include "models/deepseek_v4/state.h"
#include "moe/router.h"
#include "support/must.h"
#include "support/released_deepseek_v4.h"

namespace sluice::deepseek_v4 {
namespace {

using test::must;

WeightView f32_view(const std::vector<float>& values, int rows) {
  return {FormatId::f32,
          {rows, static_cast<int>(values.size()) / rows},
          reinterpret_cast<const std::byte*>(values.data()),
          nullptr};
}

// Streams X_i = 2 · unit vector i have a root mean square of 1, and show every weight by itself.
TEST(DeepSeekV4Formulas, HyperConnections) {
  constexpr int kStreams = 4, kWidth = 4, kMixes = 24;
  V4Config config;
  config.hidden_size = kWidth;
  config.hc_mult = kStreams;
  config.hc_sinkhorn_iters = 20;
  config.hc_eps = config.rms_norm_eps = 1e-6f;
  std::vector<float> fn(kMixes * kStreams * kWidth), base;
  for (int i = 0; i < kMixes; ++i) {
    fn[static_cast<std::size_t>(i * kStreams * kWidth)] = 0.05f * static_cast<float>((7 * i) % 11 - 5);
    base.push_back(0.05f * static_cast<float>((5 * i) % 7 - 3));
  }
  const std::vector<float> scale = {0.5f, 1, 2};
  const SiteWeights weights{f32_view(fn, kMixes), f32_view(base, 1), f32_view(scale, 1)};
  std::vector<float> streams(kStreams * kWidth), x(kWidth);
  for (std::size_t i = 0; i < kStreams; ++i) streams[i * kWidth + i] = 2;
  const Rows streams_rows{streams.data(), 1, kStreams * kWidth, kStreams * kWidth}, x_rows{x.data(), 1, kWidth, kWidth};
  ReferenceOps ops;
  Workspace work(1 << 16);
  HyperConnections connections(config, work, 1);
  connections.part(ops, streams_rows, weights, x_rows);
  const double pre[] = {.4013133, .5498350, .4750218, .5374308};
  for (std::size_t i = 0; i < kStreams; ++i) EXPECT_NEAR(x[i] / 2, pre[i], 2e-6);
  std::vector<float> output(kWidth, 100);
  connections.join(ops, {output.data(), 1, kWidth, kWidth}, streams_rows);
  const double post[] = {1.1243530, .8756470, 1.1732352, .9251403};
  const double comb[4][4] = {{.1701831, .4255249, .2341078, .1701832},
                             {.2737714, .0758496, .3766065, .2737714},
                             {.1549788, .3875077, .3025337, .1549788},
                             {.4010657, .1111168, .0867510, .4010655}};
  for (std::size_t k = 0; k < kStreams; ++k)
    for (std::size_t j = 0; j < kWidth; ++j)
      EXPECT_NEAR(streams[k * kWidth + j], 100 * post[k] + 2 * comb[j][k], 1e-4) << k << " " << j;
}

TEST(DeepSeekV4Formulas, Sinkhorn) {
  std::vector<float> mixes(24), base(24), pre(4), weights(20);
  for (int i = 0; i < 24; ++i) {
    mixes[static_cast<std::size_t>(i)] = 0.1f * static_cast<float>((7 * i) % 11 - 5);
    base[static_cast<std::size_t>(i)] = 0.05f * static_cast<float>((5 * i) % 7 - 3);
  }
  float inverse_rms = 1;
  const std::vector<float> scale = {0.5f, 1, 2};
  ReferenceOps ops;
  ops.stream_weights({.mixes = {mixes.data(), 1, 24, 24},
                      .inverse_rms = {&inverse_rms, 1, 1, 1},
                      .base = base,
                      .scale = scale,
                      .streams = 4,
                      .iterations = 20,
                      .eps = 1e-6f,
                      .pre = pre,
                      .weights = {weights.data(), 1, 20, 20}});
  const std::span<const float> c = std::span(weights).subspan(4);
  EXPECT_NEAR(c[0], .1701831, 1e-6);
  EXPECT_NEAR(c[5], .0758496, 1e-6);
  EXPECT_NEAR(c[11], .1549788, 1e-6);
  EXPECT_NEAR(c[12], .4010657, 1e-6);
}

TEST(DeepSeekV4Formulas, RotaryFrequencies) {
  const std::vector<double> w = yarn_frequencies({16, 32, 1, 65536}, 160000, 64);
  ASSERT_EQ(w.size(), 32u);
  const std::pair<std::size_t, double> kWanted[] = {{0, 1},
                                                    {1, 0.687656022},
                                                    {15, 0.00363553858},
                                                    {16, 0.002265625},
                                                    {20, 0.000296977778},
                                                    {24, 1.953125e-05},
                                                    {25, 5.37231267e-06},
                                                    {31, 5.68052904e-07}};
  for (const auto& [pair, wanted] : kWanted) EXPECT_NEAR(w[pair], wanted, 1e-8 * wanted) << pair;
}

TEST(DeepSeekV4Formulas, Router) {
  std::vector<float> scores = {-2, -.5f, 0, .7f, 1.5f, 3};
  const std::vector<float> bias = {3, 0, 0, 0, 0, -1.2f};
  const double wanted[] = {.3562696, .6885325, .8325546, 1.0503266, 1.3043823, 1.7460204};
  const Rows rows{scores.data(), 1, 6, 6};
  ReferenceOps ops;
  ops.sqrt_softplus(rows, rows);
  for (std::size_t expert = 0; expert < 6; ++expert) EXPECT_NEAR(scores[expert], wanted[expert], 1e-6);
  ExpertChooser chooser;
  const Routes& routes = chooser.choose(ops, {rows, bias, {.top_k = 2, .factor = 1.5f}});
  EXPECT_EQ(routes.of(0)[0].expert, 0);
  EXPECT_EQ(routes.of(0)[1].expert, 4);
  EXPECT_NEAR(routes.of(0)[0].weight, .3218040, 1e-6);
  EXPECT_NEAR(routes.of(0)[1].weight, 1.1781960, 1e-6);
}

// Numbers a token: 3,440 of Flash, 4,924 of Pro. Windows and open windows do not grow.
TEST(DeepSeekV4Formulas, StatesGrowByTheirEntries) {
  const V4Config flash = must(parse_config(test::released_v4_flash_config().dump(), "flash"));
  const V4Config pro = must(parse_config(test::released_v4_pro_config().dump(), "pro"));
  constexpr int kLength = 1 << 16;
  for (const auto& [config, numbers] : {std::pair{&flash, 3440}, std::pair{&pro, 4924}}) {
    const StateShape shape = state_logs(*config, config->num_hidden_layers).shape;
    EXPECT_EQ(shape.bytes(2 * kLength) - shape.bytes(kLength),
              static_cast<std::uint64_t>(kLength) * static_cast<std::uint64_t>(numbers) * sizeof(float));
  }
}

}  // namespace
}  // namespace sluice::deepseek_v4
