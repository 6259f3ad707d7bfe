// The census of the released model adds up to the numbers of spec sections 2.1 and 8.1, and its walk is in order.
#include "models/kimi_k3/census.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "formats/format.h"
#include "support/must.h"
#include "support/released_kimi_k3.h"

namespace sluice::kimi_k3 {
namespace {

using test::must;

KimiK3Config released() { return must(parse_config(test::released_kimi_k3_config().dump(), "config.json")); }

// How the release stores a tensor (spec section 2.2).
FormatId released_format(const std::string& name) {
  for (const char* ending : {"_conv1d.weight", "A_log", "dt_bias", "o_norm.weight", "e_score_correction_bias"})
    if (name.ends_with(ending)) return FormatId::f32;
  return name.find(".experts.") != std::string::npos ? FormatId::mxfp4 : FormatId::bf16;
}

std::uint64_t stored_bytes(const BlockSpec& block) {
  std::uint64_t bytes = 0;
  for (const TensorSpec& tensor : block.tensors) {
    const Format& stored = format(released_format(tensor.name));
    bytes += stored.weight_bytes(tensor.held()) + stored.scale_bytes(tensor.held());
  }
  return bytes;
}

TEST(KimiK3Census, AddsUpToTheRelease) {
  const Census wanted = census(released(), 93);
  std::map<FormatId, std::set<std::string>> names;
  std::uint64_t trunk = 0, head = 0, experts = 0, expert_tensors = 0;
  for (const BlockSpec& block : wanted.walk) {
    (block.role == "trunk" ? trunk : head) += stored_bytes(block);
    for (const TensorSpec& tensor : block.tensors) names[released_format(tensor.name)].insert(tensor.name);
  }
  names[FormatId::bf16].insert(wanted.embedding.name);
  ASSERT_EQ(wanted.has_experts.size(), 93u);
  for (int layer = 0; layer < wanted.layers; ++layer) {
    if (!wanted.has_experts[static_cast<std::size_t>(layer)]) continue;
    for (int number = 0; number < wanted.experts; ++number) {
      const BlockSpec block = wanted.expert(layer, number);
      ASSERT_EQ(stored_bytes(block), 17'547'264u);
      experts += stored_bytes(block);
      expert_tensors += 2 * block.tensors.size();  // numbers and scales
    }
  }
  EXPECT_EQ(trunk, 108'811'877'376u);
  EXPECT_EQ(experts, 1'446'456'066'048u);
  EXPECT_EQ(expert_tensors, 494'592u);
  EXPECT_EQ(names[FormatId::f32].size(), 506u);
  EXPECT_EQ(names[FormatId::bf16].size() + 168, 2'122u);  // 168 of vision
  // Shard 94: embedding, lm_head and three vectors.
  EXPECT_EQ(head + std::uint64_t{163840} * 7168 * 2, 2 * std::uint64_t{163840} * 7168 * 2 + 3 * 7168 * 2);
}

TEST(KimiK3Census, LayersHaveTheBytesOfTheirShards) {
  const KimiK3Config config = released();
  const Census wanted = census(config, 93);
  const WalkSteps steps = walk_steps(config, 93);
  const auto layer_bytes = [&](int layer) {
    const auto begin = static_cast<std::size_t>(steps.layers[static_cast<std::size_t>(layer)].attention);
    const auto end = static_cast<std::size_t>(
        layer == 92 ? steps.head_norm : steps.layers[static_cast<std::size_t>(layer) + 1].attention);
    std::uint64_t bytes = 0;
    for (std::size_t step = begin; step < end; ++step) bytes += stored_bytes(wanted.walk[step]);
    return bytes;
  };
  EXPECT_EQ(layer_bytes(0), 2'341'213'184u);
  EXPECT_EQ(layer_bytes(1), 1'267'744'256u);
  EXPECT_EQ(layer_bytes(3), 844'335'616u);
  EXPECT_EQ(layer_bytes(91), 844'335'616u);
  EXPECT_EQ(layer_bytes(92), 844'335'616u);
}

// The enums of census.h number the tensors of the step that walk_steps points to.
TEST(KimiK3Census, EnumsNumberTheTensorsOfTheirSteps) {
  const KimiK3Config config = released();
  const Census wanted = census(config, 93);
  const WalkSteps steps = walk_steps(config, 93);
  const auto name = [&](int step, int tensor) {
    return wanted.walk[static_cast<std::size_t>(step)].tensors[static_cast<std::size_t>(tensor)].name;
  };
  const auto at = [&](int layer) { return steps.layers[static_cast<std::size_t>(layer)]; };
  const std::string layers = "language_model.model.layers.";
  EXPECT_EQ(name(at(0).attention + 2, kda_stream::conv), layers + "0.self_attn.v_conv1d.weight");
  EXPECT_EQ(name(at(0).attention, kda_stream::res_proj), layers + "0.self_attention_res_proj.weight");
  EXPECT_EQ(name(at(0).attention + 1, kda_stream::proj), layers + "0.self_attn.k_proj.weight");
  EXPECT_EQ(name(at(0).attention + 3, kda_gates::a_log), layers + "0.self_attn.A_log");
  EXPECT_EQ(name(at(0).attention + 3, kda_gates::o_norm), layers + "0.self_attn.o_norm.weight");
  EXPECT_EQ(name(at(0).attention + 4, kda_out::o_proj), layers + "0.self_attn.o_proj.weight");
  const int slices = static_cast<int>(dense_slices(config).inner.size());
  EXPECT_EQ(name(at(0).ffn, dense_norms::res_proj), layers + "0.mlp_res_proj.weight");
  EXPECT_EQ(name(at(0).ffn + slices, dense_slice::rows), layers + "0.mlp.gate_proj.weight");
  EXPECT_EQ(name(at(0).ffn + 1 + slices, dense_slice::rows), layers + "0.mlp.up_proj.weight");
  EXPECT_EQ(name(at(0).ffn + 1 + 2 * slices, dense_slice::rows), layers + "0.mlp.down_proj.weight");
  EXPECT_EQ(name(at(92).attention, mla_in::kv_a_proj), layers + "92.self_attn.kv_a_proj_with_mqa.weight");
  EXPECT_EQ(name(at(92).attention, mla_in::kv_b_proj), layers + "92.self_attn.kv_b_proj.weight");
  EXPECT_EQ(name(at(92).attention + 2, mla_out::o_proj), layers + "92.self_attn.o_proj.weight");
  EXPECT_EQ(name(at(92).ffn, router::latent_down_proj), layers + "92.block_sparse_moe.routed_expert_down_proj.weight");
  EXPECT_EQ(name(at(92).ffn + 2, shared_out::down_proj),
            layers + "92.block_sparse_moe.shared_experts.down_proj.weight");
  EXPECT_EQ(name(at(92).ffn + 3, latent_out::latent_up_proj),
            layers + "92.block_sparse_moe.routed_expert_up_proj.weight");
  EXPECT_EQ(name(steps.head_norm, head_norm::res_proj), "language_model.model.output_attn_res_proj.weight");
  const BlockSpec seventh = wanted.expert(5, 7);
  EXPECT_EQ(seventh.label, "layer 5 expert 7");
  EXPECT_EQ(seventh.tensors[expert::w3].name, layers + "5.block_sparse_moe.experts.7.w3.weight");
  EXPECT_EQ(seventh.tensors[expert::w2].shape, (Shape{3584, 3072}));
}

TEST(KimiK3Census, NoStepIsMuchLargerThanTheOthers) {
  const KimiK3Config config = released();
  const Census wanted = census(config, 93);
  for (const BlockSpec& step : wanted.walk) EXPECT_LE(stored_bytes(step), 190'000'000u) << step.label;
  const DenseSlices slices = dense_slices(config);
  EXPECT_EQ(std::accumulate(slices.inner.begin(), slices.inner.end(), 0), config.intermediate_size);
  EXPECT_EQ(std::accumulate(slices.hidden.begin(), slices.hidden.end(), 0), config.hidden_size);
}

TEST(KimiK3Census, HeadComesInSlicesOfAtMost32MiB) {
  KimiK3Config config = released();
  const WalkSteps steps = walk_steps(config, 4);
  const Census wanted = census(config, 4);
  EXPECT_EQ(steps.layers.size(), 4u);
  EXPECT_EQ(wanted.walk.size(), static_cast<std::size_t>(steps.head_slices) + steps.slice_rows.size());
  int rows = 0;
  for (std::size_t slice = 0; slice < steps.slice_rows.size(); ++slice) {
    const BlockSpec& block = wanted.walk[static_cast<std::size_t>(steps.head_slices) + slice];
    EXPECT_EQ(block.tensors[0].first_row, rows);
    EXPECT_EQ(block.tensors[0].row_count, steps.slice_rows[slice]);
    EXPECT_LE(stored_bytes(block), 32u << 20);
    if (slice + 1 < steps.slice_rows.size()) {
      EXPECT_EQ(steps.slice_rows[slice], steps.slice_rows[0]);
    }
    rows += steps.slice_rows[slice];
  }
  EXPECT_EQ(rows, config.vocab_size);
  EXPECT_EQ(steps.slice_rows[0], 2340);  // 32 MiB / 14,336

  config.hidden_size = 128;
  config.vocab_size = 768;
  EXPECT_EQ(walk_steps(config, 1).slice_rows, std::vector<int>{768});
}

}  // namespace
}  // namespace sluice::kimi_k3
