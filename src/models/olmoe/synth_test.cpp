// The random OLMoE against what is known of the released one, and against what the family asks of a checkpoint.
#include "models/olmoe/synth.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "models/olmoe/census.h"
#include "support/must.h"
#include "support/released_olmoe.h"

namespace sluice::olmoe {
namespace {

SynthCheckpoint made(SynthOptions options) { return test::must(synth_checkpoint(options)); }

TEST(OlmoeSynth, FullIsTheReleasedModel) {
  const SynthCheckpoint full = made({.scale = SynthScale::full});
  std::uint64_t tensors = 0, bytes = 0;
  for (const auto& shard : full.shards)
    for (const SynthTensor& tensor : shard) {
      ++tensors;
      bytes += tensor.stored.bytes();
    }
  EXPECT_EQ(tensors, 3'219u);
  EXPECT_EQ(bytes, 2 * 6'919'161'856u);
  nlohmann::json config = nlohmann::json::parse(full.config);
  config.erase("sluice_synth");
  EXPECT_EQ(config, test::released_olmoe_config());
}

// Each tensor that the family wants, in its shape, and none besides.
TEST(OlmoeSynth, IsWhatTheCensusWants) {
  for (const SynthOptions& options : {SynthOptions{}, SynthOptions{.layers = 1, .experts = 1},
                                      SynthOptions{.scale = SynthScale::full, .layers = 2, .experts = 11}}) {
    const SynthCheckpoint checkpoint = made(options);
    const OlmoeConfig config = test::must(parse_config(checkpoint.config, "config.json"));
    const Census wanted = census(config, config.num_hidden_layers);
    std::map<std::string, std::uint64_t> left;  // numbers of each tensor
    for (const auto& shard : checkpoint.shards)
      for (const SynthTensor& tensor : shard)
        left[tensor.stored.name] = tensor.stored.bytes() / stored_type_bytes(tensor.stored.type);
    const auto want = [&](const TensorSpec& spec) {
      ASSERT_TRUE(left.contains(spec.name)) << spec.name;
      left[spec.name] -= static_cast<std::uint64_t>(spec.held().rows) * static_cast<std::uint64_t>(spec.held().cols);
      if (left[spec.name] == 0) left.erase(spec.name);
    };
    for (const BlockSpec& step : wanted.walk)
      for (const TensorSpec& spec : step.tensors) want(spec);
    for (int layer = 0; layer < wanted.layers; ++layer)
      for (int expert = 0; expert < wanted.experts; ++expert)
        for (const TensorSpec& spec : wanted.expert(layer, expert).tensors) want(spec);
    want(wanted.embedding);
    EXPECT_TRUE(left.empty()) << left.begin()->first;
  }
}

TEST(OlmoeSynth, RefusesTheImpossible) {
  for (const SynthOptions& options :
       {SynthOptions{.layers = 0}, SynthOptions{.layers = -1}, SynthOptions{.experts = 0}}) {
    const auto checkpoint = synth_checkpoint(options);
    ASSERT_FALSE(checkpoint.has_value());
    EXPECT_EQ(checkpoint.error().kind, ErrorKind::bad_input);
  }
  EXPECT_EQ(nlohmann::json::parse(made({.experts = 2}).config)["num_experts_per_tok"], 2);
}

}  // namespace
}  // namespace sluice::olmoe
