// The random DeepSeek-V4 against what is known of the released ones, and against what the family asks of a checkpoint.
#include "models/deepseek_v4/synth.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "models/deepseek_v4/census.h"
#include "models/deepseek_v4/config.h"
#include "support/must.h"
#include "support/plain_safetensors.h"
#include "support/released_deepseek_v4.h"
#include "support/synth_wants.h"
#include "support/temp_dir.h"

namespace sluice::deepseek_v4 {
namespace {

using test::must;

void expect_release(const SynthCheckpoint& full, const nlohmann::json& released, std::uint64_t tensors,
                    std::uint64_t bytes) {
  const auto totals = test::synth_totals(full);
  EXPECT_EQ(totals.tensors, tensors);
  EXPECT_EQ(totals.bytes, bytes);
  // The released config, field by field; what is ours beside it is the mark.
  nlohmann::json config = nlohmann::json::parse(full.config);
  config.erase("sluice_synth");
  EXPECT_EQ(config, released);
}

TEST(DeepSeekV4Synth, FullIsTheReleasedModel) {
  expect_release(must(synth_checkpoint({.scale = SynthScale::full})), test::released_v4_flash_config(), 69'187,
                 159'609'485'896);
  expect_release(must(synth_pro_checkpoint({.scale = SynthScale::full})), test::released_v4_pro_config(), 145'116,
                 864'704'792'696);
}

// Headers are written in the release's order of types and names, so files have the released sizes (spec 2.1).
TEST(DeepSeekV4Synth, ShardsHaveTheReleasedSizes) {
  const SynthCheckpoint full = must(synth_checkpoint({.scale = SynthScale::full}));
  const std::map<std::size_t, std::uint64_t> released = {
      {0, 1'059'061'856}, {1, 3'566'321'192},  {2, 3'566'321'192},  {3, 3'596'229'272},  {4, 3'568'768'976},
      {5, 3'590'024'776}, {11, 3'590'026'352}, {12, 3'568'770'544}, {43, 3'590'026'352}, {44, 1'059'332'516}};
  const auto file_sizes = [](const SynthCheckpoint& checkpoint) {
    std::vector<std::uint64_t> sizes;
    for (const std::vector<SynthTensor>& shard : checkpoint.shards) {
      std::vector<StoredTensor> stored;
      for (const SynthTensor& tensor : shard) stored.push_back(tensor.stored);
      sizes.push_back(must(lay_out_safetensors(stored)).file_bytes());
    }
    return sizes;
  };
  const std::vector<std::uint64_t> flash = file_sizes(full);
  ASSERT_EQ(flash.size(), 46u);
  for (const auto& [shard, bytes] : released) EXPECT_EQ(flash[shard], bytes) << "shard " << shard + 1;
  EXPECT_EQ(std::accumulate(flash.begin(), flash.end(), std::uint64_t{0}), 159'617'149'040u);
  const std::vector<std::uint64_t> pro = file_sizes(must(synth_pro_checkpoint({.scale = SynthScale::full})));
  ASSERT_EQ(pro.size(), 64u);
  EXPECT_EQ(pro[0], 1'853'358'176u);
  EXPECT_EQ(std::accumulate(pro.begin(), pro.end(), std::uint64_t{0}), 864'721'029'744u);
}

// What the family asks of a checkpoint is what is written: each tensor, its shape, and none besides.
TEST(DeepSeekV4Synth, IsWhatTheCensusWants) {
  for (const SynthOptions& options :
       {SynthOptions{}, SynthOptions{.layers = 1}, SynthOptions{.layers = 2, .experts = 1},
        SynthOptions{.scale = SynthScale::full, .layers = 5, .experts = 11}}) {
    const SynthCheckpoint checkpoint = must(synth_checkpoint(options));
    const V4Config config = must(parse_config(checkpoint.config, "config.json"));
    test::expect_what_is_wanted(checkpoint, census(config, {config.num_hidden_layers, true}));
  }
}

// An expert is two runs of its shard: its scales, and far from them its weights (spec 2.4).
TEST(DeepSeekV4Synth, ExpertsAreTwoRuns) {
  const test::TempDir dir;
  const SynthCheckpoint checkpoint = must(synth_checkpoint({.layers = 3}));
  must(write_synth(checkpoint, (dir / "v4").string(), {.durability = Durability::cached},
                   [](std::uint64_t, std::uint64_t) {}));
  const auto tensors = test::read_plain_checkpoint(dir / "v4");
  for (const char* prefix : {"layers.1.ffn.experts.10.", "layers.2.ffn.experts.3.", "mtp.0.ffn.experts.2."}) {
    const auto at = [&](const char* name) { return tensors.at(std::string(prefix) + name); };
    const test::PlainTensor w1 = at("w1.weight"), w2 = at("w2.weight"), w3 = at("w3.weight");
    const test::PlainTensor s1 = at("w1.scale"), s2 = at("w2.scale"), s3 = at("w3.scale");
    EXPECT_EQ(w1.dtype, "I8");
    EXPECT_EQ(s1.dtype, "F8_E8M0");
    EXPECT_EQ(w1.offset + w1.bytes, w2.offset);
    EXPECT_EQ(w2.offset + w2.bytes, w3.offset);
    EXPECT_EQ(s1.offset + s1.bytes, s2.offset);
    EXPECT_EQ(s2.offset + s2.bytes, s3.offset);
    EXPECT_GT(w1.offset, s3.offset + s3.bytes + 100'000);
  }
}

TEST(DeepSeekV4Synth, RefusesTheImpossible) {
  for (const SynthOptions& options :
       {SynthOptions{.layers = 0}, SynthOptions{.layers = -1}, SynthOptions{.experts = 0}, SynthOptions{.fp8 = true}}) {
    const auto checkpoint = synth_checkpoint(options);
    ASSERT_FALSE(checkpoint.has_value());
    EXPECT_EQ(checkpoint.error().kind, ErrorKind::bad_input);
  }
  const auto config = nlohmann::json::parse(must(synth_checkpoint({.experts = 2})).config);
  EXPECT_EQ(config["num_experts_per_tok"], 2);
}

}  // namespace
}  // namespace sluice::deepseek_v4
