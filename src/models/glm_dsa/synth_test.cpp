// The random GLM-5.2 against what is known of the released one, and against what the family asks of a checkpoint.
#include "models/glm_dsa/synth.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "models/glm_dsa/census.h"
#include "models/glm_dsa/config.h"
#include "support/glm_vector.h"
#include "support/must.h"
#include "support/released_glm.h"
#include "support/synth_wants.h"

namespace sluice::glm_dsa {
namespace {

SynthCheckpoint made(SynthOptions options) { return test::must(synth_checkpoint(options)); }

TEST(GlmSynth, FullIsTheReleasedModel) {
  const SynthCheckpoint full = made({.scale = SynthScale::full});
  const auto [tensors, bytes] = test::synth_totals(full);
  EXPECT_EQ(tensors, 59'585u);
  EXPECT_EQ(bytes, 1'506'659'919'872u);
  // The released config, field by field; what is ours beside it is the mark.
  nlohmann::json config = nlohmann::json::parse(full.config);
  config.erase("sluice_synth");
  EXPECT_EQ(config, test::released_glm_config());
}

TEST(GlmSynth, FullFp8IsTheFp8Release) {
  const SynthCheckpoint full = made({.scale = SynthScale::full, .fp8 = true});
  const auto [tensors, bytes] = test::synth_totals(full);
  std::uint64_t codes = 0;
  for (const auto& shard : full.shards)
    for (const SynthTensor& tensor : shard)
      if (tensor.stored.type == Dtype::f8_e4m3) codes += tensor.stored.bytes();
  EXPECT_EQ(tensors, 118'629u);  // spec 2.3
  EXPECT_EQ(codes, 751'226'191'872u);
  EXPECT_EQ(bytes, 755'617'140'416u);
}

// What the family asks of a checkpoint is what is written: each tensor, its shape, and none besides.
TEST(GlmSynth, IsWhatTheCensusWants) {
  for (const SynthOptions& options :
       {SynthOptions{}, SynthOptions{.layers = 1}, SynthOptions{.layers = 2, .experts = 1},
        SynthOptions{.scale = SynthScale::full, .layers = 5, .experts = 11}}) {
    const SynthCheckpoint checkpoint = made(options);
    const GlmConfig config = test::must(parse_config(checkpoint.config, "config.json"));
    test::expect_what_is_wanted(checkpoint, census(config, {config.num_hidden_layers, true}));
  }
}

TEST(GlmSynth, TinyHasTheFieldsOfTheGoldenVector) {
  const auto config = nlohmann::json::parse(made({}).config);
  for (const auto& [field, value] : test::glm_vector().at("config").items()) {
    if (field != "latent_norm_eps" && field != "index_k_norm_eps") {
      EXPECT_TRUE(config.contains(field)) << field;
    }
  }
}

TEST(GlmSynth, RefusesTheImpossible) {
  for (const SynthOptions& options :
       {SynthOptions{.layers = 0}, SynthOptions{.layers = -1}, SynthOptions{.experts = 0}}) {
    const auto checkpoint = synth_checkpoint(options);
    ASSERT_FALSE(checkpoint.has_value());
    EXPECT_EQ(checkpoint.error().kind, ErrorKind::bad_input);
  }
  EXPECT_EQ(nlohmann::json::parse(made({.experts = 2}).config)["num_experts_per_tok"], 2);
}

}  // namespace
}  // namespace sluice::glm_dsa
