// The census of the released model, from its config alone, adds up to the numbers of spec sections 1 and 2.
#include "models/olmoe/census.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "models/common/blocks.h"
#include "support/must.h"
#include "support/released_olmoe.h"

namespace sluice::olmoe {
namespace {

OlmoeConfig released() { return test::must(parse_config(test::released_olmoe_config().dump(), "config.json")); }

std::uint64_t numbers(const BlockSpec& block) {
  std::uint64_t count = 0;
  for (const TensorSpec& tensor : block.tensors)
    count += static_cast<std::uint64_t>(tensor.held().rows) * static_cast<std::uint64_t>(tensor.held().cols);
  return count;
}

TEST(OlmoeCensus, AddsUpToTheRelease) {
  const Census wanted = census(released(), 16);
  std::set<std::string> names = {wanted.embedding.name};
  std::uint64_t parameters = std::uint64_t{50304} * 2048;
  const auto add = [&](const BlockSpec& block) {
    parameters += numbers(block);
    for (const TensorSpec& tensor : block.tensors) names.insert(tensor.name);
  };
  for (const BlockSpec& step : wanted.walk) add(step);
  int experts = 0;
  for (int layer = 0; layer < wanted.layers; ++layer)
    for (int number = 0; number < wanted.experts; ++number, ++experts) {
      const BlockSpec block = wanted.expert(layer, number);
      ASSERT_EQ(numbers(block), 6'291'456u);
      add(block);
    }
  EXPECT_EQ(experts, 1024);
  EXPECT_EQ(parameters, 6'919'161'856u);
  EXPECT_EQ(names.size(), 3'219u);
}

TEST(OlmoeCensus, EnumsNumberTheTensorsOfTheirSteps) {
  const Census wanted = census(released(), 16);
  const BlockSpec& last = wanted.walk[15];
  EXPECT_EQ(last.tensors[layer_step::k_norm].name, "model.layers.15.self_attn.k_norm.weight");
  EXPECT_EQ(last.tensors[layer_step::o_proj].name, "model.layers.15.self_attn.o_proj.weight");
  EXPECT_EQ(last.tensors[layer_step::post_norm].name, "model.layers.15.post_attention_layernorm.weight");
  EXPECT_EQ(last.tensors[layer_step::router].shape, (Shape{64, 2048}));
  EXPECT_EQ(wanted.walk[16].tensors[norm_step::norm].name, "model.norm.weight");
  EXPECT_EQ(wanted.walk[17].tensors[0].name, "lm_head.weight");
  const BlockSpec expert = wanted.expert(3, 7);
  EXPECT_EQ(expert.label, "layer 3 expert 7");
  EXPECT_EQ(expert.tensors[gated_expert::up].name, "model.layers.3.mlp.experts.7.up_proj.weight");
  EXPECT_EQ(expert.tensors[gated_expert::down].shape, (Shape{2048, 1024}));
}

// Spec section 2: [64, 2048, 2048] with the gate's rows first, and [64, 2048, 1024].
TEST(OlmoeCensus, ExpertsMayBeFused) {
  const BlockSpec expert = census(released(), 16).expert(3, 7);
  const auto fused = [&](int tensor) { return expert.tensors[static_cast<std::size_t>(tensor)].alternatives.at(0); };
  EXPECT_EQ(fused(gated_expert::gate).name, "model.layers.3.mlp.experts.gate_up_proj");
  EXPECT_EQ(fused(gated_expert::gate).shape, (Shape{64 * 2048, 2048}));
  EXPECT_EQ(fused(gated_expert::gate).stacked, 64);
  EXPECT_EQ(fused(gated_expert::gate).first_row, 7 * 2048);
  EXPECT_EQ(fused(gated_expert::gate).row_count, 1024);
  EXPECT_EQ(fused(gated_expert::up).first_row, 7 * 2048 + 1024);
  EXPECT_EQ(fused(gated_expert::down).name, "model.layers.3.mlp.experts.down_proj");
  EXPECT_EQ(fused(gated_expert::down).shape, (Shape{64 * 2048, 1024}));
  EXPECT_EQ(fused(gated_expert::down).first_row, 7 * 2048);
  EXPECT_EQ(fused(gated_expert::down).row_count, 2048);
}

TEST(OlmoeCensus, FewerHeadsOfKeysMeanShorterKeys) {
  OlmoeConfig config = released();
  config.num_key_value_heads = 4;
  const BlockSpec first = census(config, 1).walk[0];
  EXPECT_EQ(first.tensors[layer_step::k_proj].shape, (Shape{512, 2048}));
  EXPECT_EQ(first.tensors[layer_step::k_norm].shape, (Shape{1, 512}));
  EXPECT_EQ(first.tensors[layer_step::q_norm].shape, (Shape{1, 2048}));
}

}  // namespace
}  // namespace sluice::olmoe
