// The census of the released model, from its config alone, adds up to the last byte of both releases (spec sections 0
// and 2.3), and its walk is in order.
#include "models/glm_dsa/census.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "models/common/blocks.h"
#include "support/must.h"
#include "support/released_glm.h"

namespace sluice::glm_dsa {
namespace {

using test::must;

GlmConfig released() { return must(parse_config(test::released_glm_config().dump(), "config.json")); }

struct Totals {
  std::uint64_t tensors = 0, bytes = 0;
  std::uint64_t fp8 = 0, bf16 = 0, f32 = 0;  // numbers of each type in the FP8 release
};

// 2.2: what the FP8 release keeps in bf16.
bool stays_bf16(const std::string& name) {
  for (const char* part : {"norm.", "embed_tokens.", "lm_head.", "mlp.gate.weight", "weights_proj.", "eh_proj."})
    if (name.find(part) != std::string::npos) return true;
  return false;
}

void count(const TensorSpec& tensor, bool fp8, Totals& totals) {
  const auto rows = static_cast<std::uint64_t>(tensor.shape.rows), cols = static_cast<std::uint64_t>(tensor.shape.cols);
  ++totals.tensors;
  if (tensor.name.ends_with("e_score_correction_bias")) {
    totals.f32 += rows * cols;
    totals.bytes += 4 * rows * cols;
  } else if (!fp8 || stays_bf16(tensor.name)) {
    totals.bf16 += rows * cols;
    totals.bytes += 2 * rows * cols;
  } else {
    const std::uint64_t scales = (rows + 127) / 128 * ((cols + 127) / 128);
    ++totals.tensors;
    totals.fp8 += rows * cols;
    totals.f32 += scales;
    totals.bytes += rows * cols + 4 * scales;
  }
}

Totals totals_of(const Census& wanted, bool fp8) {
  Totals totals;
  std::set<std::string> seen;  // lm_head comes in slices
  for (const BlockSpec& block : wanted.walk)
    for (const TensorSpec& tensor : block.tensors)
      if (seen.insert(tensor.name).second) count(tensor, fp8, totals);
  count(wanted.embedding, fp8, totals);
  for (int layer = 0; layer < wanted.layers; ++layer)
    for (int number = 0; wanted.has_experts[static_cast<std::size_t>(layer)] && number < wanted.experts; ++number)
      for (const TensorSpec& tensor : wanted.expert(layer, number).tensors) count(tensor, fp8, totals);
  return totals;
}

TEST(GlmCensus, AddsUpToBothReleases) {
  const Census wanted = census(released(), {78, true});
  const Totals bf16 = totals_of(wanted, false), fp8 = totals_of(wanted, true);
  EXPECT_EQ(bf16.tensors, 59'585u);
  EXPECT_EQ(bf16.bytes, 1'506'659'919'872u);
  EXPECT_EQ(bf16.bf16, 753'329'921'024u);
  EXPECT_EQ(bf16.f32, 19'456u);
  EXPECT_EQ(fp8.tensors, 118'629u);
  EXPECT_EQ(fp8.bytes, 755'617'140'416u);
  EXPECT_EQ(fp8.fp8, 751'226'191'872u);
  EXPECT_EQ(fp8.bf16, 2'103'729'152u);
  EXPECT_EQ(fp8.f32, 45'872'560u);
}

// What is not bound without the draft head is exactly layer 78, and it is left alone by name.
TEST(GlmCensus, WithoutTheDraftHeadItsLayerIsIgnored) {
  const Census whole = census(released(), {78, true}), trunk = census(released(), {78});
  std::set<std::string> left;
  for (const BlockSpec& block : whole.walk)
    for (const TensorSpec& tensor : block.tensors) left.insert(tensor.name);
  for (const BlockSpec& block : trunk.walk)
    for (const TensorSpec& tensor : block.tensors) left.erase(tensor.name);
  EXPECT_EQ(left.size(), 791u - 3 * 256);
  const auto ignored = [&](const std::string& name) {
    return std::ranges::any_of(trunk.ignored, [&](const std::string& prefix) { return name.starts_with(prefix); });
  };
  for (const std::string& name : left) EXPECT_TRUE(ignored(name)) << name;
  for (const TensorSpec& tensor : whole.expert(78, 255).tensors) EXPECT_TRUE(ignored(tensor.name));
  EXPECT_FALSE(ignored("model.layers.7.input_layernorm.weight"));
  EXPECT_EQ(trunk.has_experts.size(), 78u);
  EXPECT_EQ(whole.has_experts.size(), 79u);
  EXPECT_EQ(std::ranges::count(trunk.has_experts, true), 75);
}

// The enums of census.h number the tensors of the step that walk_steps points to.
TEST(GlmCensus, EnumsNumberTheTensorsOfTheirSteps) {
  const GlmConfig config = released();
  const ModelScope scope{78, true};
  const Census wanted = census(config, scope);
  const WalkSteps steps = walk_steps(config, scope);
  const auto name = [&](int step, int tensor) {
    return wanted.walk[static_cast<std::size_t>(step)].tensors[static_cast<std::size_t>(tensor)].name;
  };
  const auto at = [&](int layer) { return steps.layers[static_cast<std::size_t>(layer)]; };
  EXPECT_EQ(name(at(0).attention, attention_in::kv_b_proj), "model.layers.0.self_attn.kv_b_proj.weight");
  EXPECT_EQ(name(at(6).attention, attention_in::index_q), "model.layers.6.self_attn.indexer.wq_b.weight");
  EXPECT_EQ(name(at(6).attention, attention_in::index_weights), "model.layers.6.self_attn.indexer.weights_proj.weight");
  EXPECT_EQ(wanted.walk[static_cast<std::size_t>(at(7).attention)].tensors.size(), 7u);
  EXPECT_EQ(name(at(7).attention + 1, attention_out::o_proj), "model.layers.7.self_attn.o_proj.weight");
  EXPECT_EQ(name(at(2).ffn, dense_in::up_proj), "model.layers.2.mlp.up_proj.weight");
  EXPECT_EQ(name(at(2).ffn + 1, dense_out::down_proj), "model.layers.2.mlp.down_proj.weight");
  EXPECT_EQ(name(at(3).ffn, router::bias), "model.layers.3.mlp.gate.e_score_correction_bias");
  EXPECT_EQ(name(at(3).ffn + 1, shared::down_proj), "model.layers.3.mlp.shared_experts.down_proj.weight");
  EXPECT_EQ(name(steps.head_norm, head_norm::norm), "model.norm.weight");
  EXPECT_EQ(name(steps.head_slices, 0), "lm_head.weight");
  EXPECT_EQ(name(steps.draft_in, draft_in::eh_proj), "model.layers.78.eh_proj.weight");
  EXPECT_EQ(name(steps.draft.attention, attention_in::index_k_bias), "model.layers.78.self_attn.indexer.k_norm.bias");
  EXPECT_EQ(name(steps.draft.ffn, router::gate), "model.layers.78.mlp.gate.weight");
  EXPECT_EQ(name(steps.draft_out, draft_out::norm), "model.layers.78.shared_head.norm.weight");
  EXPECT_EQ(wanted.walk.size(), static_cast<std::size_t>(steps.draft_out) + 1);
  const BlockSpec seventh = wanted.expert(5, 7);
  EXPECT_EQ(seventh.label, "layer 5 expert 7");
  EXPECT_EQ(seventh.tensors[gated_expert::up].name, "model.layers.5.mlp.experts.7.up_proj.weight");
  EXPECT_EQ(seventh.tensors[gated_expert::down].shape, (Shape{6144, 2048}));
}

// DeepSeek-V3's draft head carries copies of the embedding and of lm_head, which are left alone.
TEST(GlmCensus, CopiesInADraftHeadAreIgnored) {
  const GlmConfig config = must(parse_config(test::released_deepseek_v3_config().dump(), "config.json"));
  const Census wanted = census(config, {61, true});
  for (const char* name : {"model.layers.61.embed_tokens.weight", "model.layers.61.shared_head.head.weight",
                           "model.layers.60.self_attn.rotary_emb.inv_freq"})
    EXPECT_TRUE(std::ranges::any_of(wanted.ignored, [&](const std::string& prefix) {
      return std::string(name).starts_with(prefix);
    })) << name;
  EXPECT_EQ(wanted.walk[0].tensors.size(), 7u);
}

}  // namespace
}  // namespace sluice::glm_dsa
