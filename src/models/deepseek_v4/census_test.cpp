// The census of the released models, from their configs alone, adds up to the last byte of Flash and of Pro (spec
// sections 2.1, 2.2 and 2.4), and its walk is in order.
#include "models/deepseek_v4/census.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "formats/format.h"
#include "models/common/blocks.h"
#include "models/deepseek_v4/other_names.h"
#include "support/must.h"
#include "support/released_deepseek_v4.h"

namespace sluice::deepseek_v4 {
namespace {

using test::must;

V4Config read(const nlohmann::json& config) { return must(parse_config(config.dump(), "config.json")); }
V4Config flash() { return read(test::released_v4_flash_config()); }
V4Config pro() { return read(test::released_v4_pro_config()); }

// How the release stores a tensor (spec section 2.2).
FormatId released_format(const std::string& name) {
  for (const char* part : {"hc_", ".ape", "attn_sink", "gate.bias"})
    if (name.find(part) != std::string::npos) return FormatId::f32;
  for (const char* part : {"norm.", "embed.", "compressor.", "weights_proj.", "ffn.gate.weight"})
    if (name.find(part) != std::string::npos) return FormatId::bf16;
  if (name == "head.weight") return FormatId::bf16;
  return name.find(".experts.") != std::string::npos ? FormatId::mxfp4 : FormatId::fp8_e8m0;
}

struct Totals {
  std::uint64_t tensors = 0, bytes = 0;

  void add(const TensorSpec& tensor) {
    const Format& stored = format(released_format(tensor.name));
    tensors += stored.scales == ScaleKind::none ? 1 : 2;
    bytes += stored.weight_bytes(tensor.shape) + stored.scale_bytes(tensor.shape);
  }
};

struct Release {
  Totals all, experts;                     // of the trunk's layers
  std::map<std::string, Totals> layers{};  // what is not routed, by layer: "layers.3.", "mtp.0.", "" for the rest
};

std::string layer_of(const std::string& name) {
  if (!name.starts_with("layers.") && !name.starts_with("mtp.")) return "";
  return name.substr(0, name.find('.', name.find('.') + 1) + 1);
}

Release add_up(const V4Config& config) {
  const Census wanted = census(config, {config.num_hidden_layers, true});
  Release release;
  std::set<std::string> seen;  // the head's matrix comes in slices
  const auto add = [&](const TensorSpec& tensor) {
    if (!seen.insert(tensor.name).second) return;
    release.all.add(tensor);
    release.layers[layer_of(tensor.name)].add(tensor);
  };
  for (const BlockSpec& block : wanted.walk)
    for (const TensorSpec& tensor : block.tensors) add(tensor);
  add(wanted.embedding);
  for (const IdTableSpec& table : wanted.id_tables) {
    const std::uint64_t bytes = 8 * static_cast<std::uint64_t>(table.tensor.shape.rows * table.tensor.shape.cols);
    for (Totals* totals : {&release.all, &release.layers[layer_of(table.tensor.name)]})
      ++totals->tensors, totals->bytes += bytes;
  }
  for (int layer = 0; layer < wanted.layers; ++layer)
    for (int number = 0; number < wanted.experts; ++number)
      for (const TensorSpec& tensor : wanted.expert(layer, number).tensors) {
        release.all.add(tensor);
        if (layer < config.num_hidden_layers) release.experts.add(tensor);
      }
  return release;
}

TEST(DeepSeekV4Census, AddsUpToFlash) {
  const Release release = add_up(flash());
  EXPECT_EQ(release.all.bytes, 159'609'485'896u);
  EXPECT_EQ(release.all.tensors, 69'187u);
  EXPECT_EQ(release.experts.bytes, 147'169'738'752u);
  // By kind of layer (2.4).
  EXPECT_EQ(release.layers.at("layers.0.").bytes, 143'596'888u);
  EXPECT_EQ(release.layers.at("layers.2.").bytes, 173'503'576u);
  EXPECT_EQ(release.layers.at("layers.3.").bytes, 146'044'248u);
  EXPECT_EQ(release.layers.at("layers.42.").bytes, 167'299'160u);
  EXPECT_EQ(release.layers.at("mtp.0.").bytes, 171'235'692u);
  // And by number of tensors, without the 6 of each of 256 experts (2.2).
  EXPECT_EQ(release.layers.at("layers.0.").tensors, 1565u - 1536);
  EXPECT_EQ(release.layers.at("layers.42.").tensors, 1576u - 1536);
  EXPECT_EQ(release.layers.at("layers.3.").tensors, 1569u - 1536);
  EXPECT_EQ(release.layers.at("mtp.0.").tensors, 1575u - 1536);
}

TEST(DeepSeekV4Census, AddsUpToPro) {
  const Release release = add_up(pro());
  EXPECT_EQ(release.all.bytes, 864'704'792'696u);
  EXPECT_EQ(release.all.tensors, 145'116u);
  EXPECT_EQ(release.experts.bytes, 822'054'223'872u);
  EXPECT_EQ(release.layers.at("layers.0.").bytes, 398'167'576u);
  EXPECT_EQ(release.layers.at("layers.2.").bytes, 433'447'448u);
  EXPECT_EQ(release.layers.at("layers.3.").bytes, 391'963'672u);
  EXPECT_EQ(release.layers.at("layers.60.").bytes, 427'243'544u);
  EXPECT_EQ(release.layers.at("layers.60.").tensors, 2344u - 2304);
  EXPECT_EQ(release.layers.at("mtp.0.").tensors, 2343u - 2304);
}

// The enums of census.h number the tensors of the step that walk_steps points to.
TEST(DeepSeekV4Census, EnumsNumberTheTensorsOfTheirSteps) {
  const V4Config config = flash();
  const ModelScope scope{43, true};
  const Census wanted = census(config, scope);
  const WalkSteps steps = walk_steps(config, scope);
  const auto name = [&](int step, int tensor) {
    return wanted.walk.at(static_cast<std::size_t>(step)).tensors.at(static_cast<std::size_t>(tensor)).name;
  };
  const auto at = [&](int layer) { return steps.layers[static_cast<std::size_t>(layer)]; };
  EXPECT_EQ(name(at(0).attention, attention_in::hc_fn), "layers.0.hc_attn_fn");
  EXPECT_EQ(name(at(0).attention, attention_in::norm), "layers.0.attn_norm.weight");
  EXPECT_EQ(name(at(0).attention, attention_in::wq_b), "layers.0.attn.wq_b.weight");
  EXPECT_EQ(name(at(0).attention, attention_in::sink), "layers.0.attn.attn_sink");
  EXPECT_EQ(at(0).compress, -1);
  EXPECT_EQ(at(0).output, at(0).attention + 1);
  EXPECT_EQ(name(at(2).compress, compress::ape), "layers.2.attn.compressor.ape");
  EXPECT_EQ(name(at(2).compress, compress::wgate), "layers.2.attn.compressor.wgate.weight");
  EXPECT_EQ(name(at(2).compress, compress::index_weights), "layers.2.attn.indexer.weights_proj.weight");
  EXPECT_EQ(name(at(2).compress, compress::index_wgate), "layers.2.attn.indexer.compressor.wgate.weight");
  EXPECT_EQ(wanted.walk[static_cast<std::size_t>(at(3).compress)].tensors.size(), 4u);
  EXPECT_EQ(name(at(2).output, group_out::wo_a), "layers.2.attn.wo_a.weight");
  EXPECT_EQ(name(at(2).output + 1, attention_out::wo_b), "layers.2.attn.wo_b.weight");
  EXPECT_EQ(wanted.walk[static_cast<std::size_t>(at(2).router)].tensors.size(), 5u);  // no bias
  EXPECT_EQ(name(at(3).router, router::norm), "layers.3.ffn_norm.weight");
  EXPECT_EQ(name(at(3).router, router::bias), "layers.3.ffn.gate.bias");
  EXPECT_EQ(name(at(3).shared, shared::w3), "layers.3.ffn.shared_experts.w3.weight");
  EXPECT_EQ(name(steps.head_in, head_in::hc_scale), "hc_head_scale");
  EXPECT_EQ(name(steps.head_in, head_in::norm), "norm.weight");
  EXPECT_EQ(name(steps.head_slices, 0), "head.weight");
  EXPECT_EQ(name(steps.draft_in, draft_in::h_proj), "mtp.0.h_proj.weight");
  EXPECT_EQ(name(steps.draft.attention, attention_in::kv_norm), "mtp.0.attn.kv_norm.weight");
  EXPECT_EQ(steps.draft.compress, -1);
  EXPECT_EQ(name(steps.draft.router, router::bias), "mtp.0.ffn.gate.bias");
  EXPECT_EQ(name(steps.draft_out, head_in::hc_fn), "mtp.0.hc_head_fn");
  EXPECT_EQ(name(steps.draft_out, head_in::norm), "mtp.0.norm.weight");
  EXPECT_EQ(wanted.walk.size(), static_cast<std::size_t>(steps.draft_out) + 1);
  EXPECT_EQ(wanted.id_tables.size(), 3u);
  EXPECT_EQ(wanted.id_tables[2].tensor.name, "layers.2.ffn.gate.tid2eid");
  EXPECT_EQ(wanted.id_tables[2].below, 256);
  EXPECT_EQ(census(config, {1, false}).id_tables.size(), 1u);

  const BlockSpec expert = wanted.expert(5, 7);
  EXPECT_EQ(expert.label, "layer 5 expert 7");
  EXPECT_EQ(expert.tensors[gated_expert::gate].name, "layers.5.ffn.experts.7.w1.weight");
  EXPECT_EQ(expert.tensors[gated_expert::up].name, "layers.5.ffn.experts.7.w3.weight");
  EXPECT_EQ(expert.tensors[gated_expert::down].name, "layers.5.ffn.experts.7.w2.weight");
  EXPECT_EQ(expert.tensors[gated_expert::down].shape, (Shape{4096, 2048}));
  EXPECT_EQ(wanted.expert(43, 7).tensors[0].name, "mtp.0.ffn.experts.7.w1.weight");
}

bool is_ignored(const Census& census, std::string_view name) {
  return std::ranges::any_of(census.ignored, [&](const std::string& prefix) { return name.starts_with(prefix); });
}

// What is not bound without the draft head is left alone by name; with it, only copies of what it shares.
TEST(DeepSeekV4Census, WithoutTheDraftHeadItsTensorsAreIgnored) {
  const Census trunk = census(flash(), {43, false}), whole = census(flash(), {43, true});
  EXPECT_EQ(trunk.layers, 43);
  EXPECT_EQ(whole.layers, 44);
  std::size_t left = 0;
  for (std::size_t step = trunk.walk.size(); step < whole.walk.size(); ++step)
    for (const TensorSpec& tensor : whole.walk[step].tensors) {
      EXPECT_TRUE(is_ignored(trunk, tensor.name)) << tensor.name;
      EXPECT_FALSE(is_ignored(whole, tensor.name)) << tensor.name;
      ++left;
    }
  EXPECT_EQ(left, 10u + 2 + 6 + 3 + 8);  // attention in and out, router, shared expert, what is the head's own
  EXPECT_TRUE(is_ignored(trunk, whole.expert(43, 255).tensors[0].name));
  for (const char* copy : {"mtp.0.emb.tok_emb.weight", "mtp.0.embed.weight", "mtp.0.head.weight"})
    EXPECT_TRUE(is_ignored(whole, copy)) << copy;
  EXPECT_FALSE(is_ignored(whole, "mtp.0.hc_head_fn"));
}

// The stages of DSpark (spec 7.2) are left alone whole.
TEST(DeepSeekV4Census, DSparkIsIgnored) {
  nlohmann::json json = test::released_v4_flash_config();
  json["dspark_block_size"] = 5;
  json["compress_ratios"].push_back(0);
  json["compress_ratios"].push_back(0);
  const Census wanted = census(read(json), {43, false});
  for (const char* name : {"mtp.0.main_proj.weight", "mtp.1.attn.wq_a.weight", "mtp.2.markov_head.markov_w1.weight",
                           "mtp.2.confidence_head.proj.weight"})
    EXPECT_TRUE(is_ignored(wanted, name)) << name;
}

// Every tensor outside the MTP block has a name by transformers (spec 2.5); examples of each kind.
TEST(DeepSeekV4Census, HasTheNamesOfTransformers) {
  const Census wanted = census(flash(), {43, true});
  std::map<std::string, std::vector<std::string>> others;
  const auto note = [&](const TensorSpec& tensor) {
    for (const TensorSpec& other : tensor.alternatives) {
      EXPECT_EQ(other.held(), tensor.held());
      others[tensor.name].push_back(other.name);
    }
    EXPECT_EQ(tensor.alternatives.empty(), tensor.name.starts_with("mtp.")) << tensor.name;
  };
  for (const BlockSpec& block : wanted.walk)
    for (const TensorSpec& tensor : block.tensors) note(tensor);
  note(wanted.embedding);
  for (const IdTableSpec& table : wanted.id_tables) note(table.tensor);
  const auto only = [&](const char* name) {
    const std::vector<std::string>& found = others.at(name);
    return std::ranges::all_of(found, [&](const std::string& one) { return one == found[0]; }) ? found[0] : "several";
  };
  EXPECT_EQ(only("embed.weight"), "model.embed_tokens.weight");
  EXPECT_EQ(only("head.weight"), "lm_head.weight");
  EXPECT_EQ(only("norm.weight"), "model.norm.weight");
  EXPECT_EQ(only("hc_head_base"), "model.hc_head.hc_base");
  EXPECT_EQ(only("layers.3.attn_norm.weight"), "model.layers.3.input_layernorm.weight");
  EXPECT_EQ(only("layers.3.hc_ffn_scale"), "model.layers.3.ffn_hc.scale");
  EXPECT_EQ(only("layers.3.attn.attn_sink"), "model.layers.3.self_attn.sinks");
  EXPECT_EQ(only("layers.4.attn.wo_a.weight"), "model.layers.4.self_attn.o_a_proj.weight");
  EXPECT_EQ(only("layers.4.attn.compressor.ape"), "model.layers.4.self_attn.compressor.position_bias");
  EXPECT_EQ(only("layers.4.attn.indexer.compressor.wgate.weight"),
            "model.layers.4.self_attn.compressor.indexer.gate_proj.weight");
  EXPECT_EQ(only("layers.4.attn.indexer.wq_b.weight"), "model.layers.4.self_attn.compressor.indexer.q_b_proj.weight");
  EXPECT_EQ(others.at("layers.4.attn.indexer.weights_proj.weight").size(), 2u);
  EXPECT_EQ(only("layers.1.ffn.gate.tid2eid"), "model.layers.1.mlp.gate.tid2eid");
  EXPECT_EQ(only("layers.9.ffn.gate.bias"), "model.layers.9.mlp.gate.e_score_correction_bias");
  EXPECT_EQ(only("layers.9.ffn.shared_experts.w3.weight"), "model.layers.9.mlp.shared_experts.up_proj.weight");

  const BlockSpec expert = wanted.expert(9, 2);
  const TensorSpec& up = expert.tensors[gated_expert::up].alternatives.at(0);
  EXPECT_EQ(up.name, "model.layers.9.mlp.experts.gate_up_proj");
  EXPECT_EQ(up.first_row, (2 * 2 + 1) * 2048);
  EXPECT_TRUE(wanted.expert(43, 2).tensors[0].alternatives.empty());
}

}  // namespace
}  // namespace sluice::deepseek_v4
