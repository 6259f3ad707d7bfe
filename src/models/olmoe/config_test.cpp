// The rules of spec section 1: what the releases say is understood; whatever is missing or contradictory is named.
#include "models/olmoe/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/must.h"
#include "support/released_olmoe.h"

namespace sluice::olmoe {
namespace {

using nlohmann::json;
using test::must;
using testing::AllOf, testing::ElementsAre, testing::HasSubstr, testing::IsEmpty, testing::Not;

OlmoeConfig understood(const json& config) { return must(parse_config(config.dump(), "config.json")); }

std::string refusal(const json& config) {
  const auto parsed = parse_config(config.dump(), "dir/config.json");
  EXPECT_FALSE(parsed) << config.dump();
  if (parsed) return "";
  EXPECT_EQ(parsed.error().kind, ErrorKind::bad_input);
  EXPECT_THAT(parsed.error().what, HasSubstr("dir/config.json: "));
  return parsed.error().what;
}

// The released config with some fields changed (null: as if missing).
json with(const json& fields) {
  json config = test::released_olmoe_config();
  config.update(fields);
  return config;
}
json without(const char* field) {
  json config = test::released_olmoe_config();
  config.erase(field);
  return config;
}

TEST(OlmoeConfig, UnderstandsTheRelease) {
  const OlmoeConfig config = understood(test::released_olmoe_config());
  EXPECT_EQ(config.vocab_size, 50304);
  EXPECT_EQ(config.hidden_size, 2048);
  EXPECT_EQ(config.num_hidden_layers, 16);
  EXPECT_EQ(config.num_attention_heads, 16);
  EXPECT_EQ(config.num_key_value_heads, 16);
  EXPECT_EQ(config.head_dim(), 128);
  EXPECT_EQ(config.kv_width(), 2048);
  EXPECT_EQ(config.intermediate_size, 1024);
  EXPECT_EQ(config.num_experts, 64);
  EXPECT_EQ(config.num_experts_per_tok, 8);
  EXPECT_FALSE(config.norm_topk_prob);
  EXPECT_EQ(config.rms_norm_eps, 1e-5f);
  EXPECT_EQ(config.rope_theta, 10000);
  EXPECT_FALSE(config.clip_qkv);
  EXPECT_EQ(config.max_position_embeddings, 4096);
  EXPECT_THAT(config.stop_ids, ElementsAre(50279));
}

TEST(OlmoeConfig, FillsInWhatSomeFilesLeaveOut) {
  EXPECT_EQ(understood(without("rms_norm_eps")).rms_norm_eps, 1e-5f);
  EXPECT_EQ(understood(without("num_key_value_heads")).num_key_value_heads, 16);
  EXPECT_EQ(understood(without("max_position_embeddings")).max_position_embeddings, 4096);
  EXPECT_THAT(understood(without("eos_token_id")).stop_ids, ElementsAre(50279));
  json small = with({{"vocab_size", 1000}});
  small.erase("eos_token_id");
  EXPECT_THAT(understood(small).stop_ids, IsEmpty());
  for (const char* field : {"clip_qkv", "rope_scaling", "attention_bias", "tie_word_embeddings"})
    understood(without(field));
}

TEST(OlmoeConfig, ReadsWhatDiffers) {
  const OlmoeConfig config = understood(with({{"num_key_value_heads", 4},
                                              {"norm_topk_prob", true},
                                              {"clip_qkv", 8.0},
                                              {"eos_token_id", {7, 3}},
                                              {"head_dim", 128}}));
  EXPECT_EQ(config.kv_width(), 512);
  EXPECT_TRUE(config.norm_topk_prob);
  EXPECT_EQ(config.clip_qkv, 8.0f);
  EXPECT_THAT(config.stop_ids, ElementsAre(3, 7));
}

TEST(OlmoeConfig, ThetaStandsInEitherPlaceAndNotTwiceDifferently) {
  json config = without("rope_theta");
  config["rope_parameters"] = {{"rope_theta", 500.0}, {"rope_type", "default"}};
  EXPECT_EQ(understood(config).rope_theta, 500);
  config["rope_theta"] = 500.0;
  EXPECT_EQ(understood(config).rope_theta, 500);
  config["rope_theta"] = 10000.0;
  EXPECT_THAT(refusal(config), HasSubstr("rope_theta is 10000, and rope_parameters.rope_theta is 500"));
  EXPECT_THAT(refusal(without("rope_theta")), HasSubstr("missing rope_theta"));
}

TEST(OlmoeConfig, NamesEveryRequiredFieldInOneMessage) {
  const char* const required[] = {"vocab_size",  "hidden_size",         "num_hidden_layers", "num_attention_heads",
                                  "num_experts", "num_experts_per_tok", "norm_topk_prob",    "intermediate_size",
                                  "hidden_act",  "rope_theta"};
  const std::string all = refusal({{"model_type", "olmoe"}});
  for (const char* field : required) {
    EXPECT_THAT(all, HasSubstr(field));
    EXPECT_THAT(refusal(without(field)), AllOf(HasSubstr("missing"), HasSubstr(field)));
  }
  EXPECT_THAT(
      refusal(with({{"hidden_size", "wide"}, {"num_experts", 0}, {"hidden_act", "gelu"}})),
      AllOf(HasSubstr("hidden_size is \"wide\""), HasSubstr("num_experts is 0"), HasSubstr("hidden_act is 'gelu'")));
}

TEST(OlmoeConfig, RefusesWhatCannotBeRun) {
  EXPECT_THAT(refusal(with({{"attention_bias", true}})), HasSubstr("attention_bias is true"));
  EXPECT_THAT(refusal(with({{"tie_word_embeddings", true}})), HasSubstr("tie_word_embeddings is true"));
  EXPECT_THAT(refusal(with({{"rope_scaling", {{"type", "linear"}, {"factor", 2.0}}}})),
              HasSubstr("rope_scaling.type is 'linear', only 'default'"));
  EXPECT_THAT(refusal(with({{"rope_parameters", {{"rope_type", "yarn"}, {"rope_theta", 1e4}}}})),
              HasSubstr("rope_parameters.rope_type is 'yarn'"));
  EXPECT_THAT(refusal(with({{"rope_parameters", {{"partial_rotary_factor", 0.5}}}})),
              HasSubstr("partial_rotary_factor"));
  EXPECT_THAT(refusal(with({{"clip_qkv", -1.0}})), HasSubstr("clip_qkv"));
}

TEST(OlmoeConfig, NamesContradictions) {
  EXPECT_THAT(refusal(with({{"num_experts_per_tok", 65}})),
              HasSubstr("num_experts_per_tok is 65, more than num_experts 64"));
  EXPECT_THAT(refusal(with({{"num_key_value_heads", 3}})),
              HasSubstr("num_key_value_heads is 3, which does not divide"));
  EXPECT_THAT(refusal(with({{"num_key_value_heads", 32}})), HasSubstr("num_key_value_heads is 32"));
  EXPECT_THAT(refusal(with({{"num_attention_heads", 48}, {"num_key_value_heads", 48}})),
              HasSubstr("hidden_size 2048 does not fall into so many heads"));
  EXPECT_THAT(refusal(with({{"num_attention_heads", 2048}, {"num_key_value_heads", 2048}})),
              HasSubstr("heads of even width"));
  EXPECT_THAT(refusal(with({{"head_dim", 64}})), HasSubstr("head_dim is 64"));
  EXPECT_THAT(refusal(with({{"eos_token_id", 50304}})), HasSubstr("eos_token_id is 50304"));
  EXPECT_THAT(refusal(with({{"num_experts", 65536}, {"num_hidden_layers", 1000}})), HasSubstr("absurdly many"));
  EXPECT_THAT(refusal(with({{"num_experts", 65536}, {"num_hidden_layers", 1}, {"intermediate_size", 1 << 20}})),
              HasSubstr("absurdly many for their width"));
}

}  // namespace
}  // namespace sluice::olmoe
