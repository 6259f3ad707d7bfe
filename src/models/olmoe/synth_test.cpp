// The random OLMoE against what is known of the released one, and against what the family asks of a checkpoint.
#include "models/olmoe/synth.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "models/olmoe/census.h"
#include "support/must.h"
#include "support/released_olmoe.h"
#include "support/synth_wants.h"

namespace sluice::olmoe {
namespace {

SynthCheckpoint made(SynthOptions options) { return test::must(synth_checkpoint(options)); }

TEST(OlmoeSynth, FullIsTheReleasedModel) {
  const SynthCheckpoint full = made({.scale = SynthScale::full});
  const auto [tensors, bytes] = test::synth_totals(full);
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
    test::expect_what_is_wanted(checkpoint, census(config, config.num_hidden_layers));
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
