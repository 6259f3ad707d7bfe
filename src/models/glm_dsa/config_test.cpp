// config.json of GLM-5.2 and its relatives: released values, every form of every rule of spec section 1, and faults.
#include "models/glm_dsa/config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "models/glm_dsa/rope.h"
#include "models/registry.h"
#include "support/must.h"
#include "support/released_glm.h"

namespace sluice::glm_dsa {
namespace {

using nlohmann::json;
using test::must;

GlmConfig parsed(const json& config) { return must(parse_config(config.dump(), "config.json")); }

GlmConfig with(const std::function<void(json&)>& edit) {
  json config = test::released_glm_config();
  edit(config);
  return parsed(config);
}

TEST(GlmConfig, Released) {
  const GlmConfig config = parsed(test::released_glm_config());
  EXPECT_EQ(config.hidden_size, 6144);
  EXPECT_EQ(config.qk_head_dim(), 256);
  EXPECT_EQ(config.latent_width(), 576);
  EXPECT_EQ(config.softmax_scale(), 0.0625f);
  EXPECT_EQ(config.rope_theta, 8e6f);
  EXPECT_EQ(config.latent_norm_eps, 1e-5f);
  EXPECT_EQ(config.index_k_norm_eps, 1e-6f);
  EXPECT_EQ(config.stop_ids, (std::vector<int>{154820, 154827, 154829}));
  std::vector<int> full;
  for (int layer = 0; layer < 78; ++layer)
    if (config.owns_indexer(layer)) full.push_back(layer);
  EXPECT_EQ(full, (std::vector<int>{0, 1, 2, 6, 10, 14, 18, 22, 26, 30, 34, 38, 42, 46, 50, 54, 58, 62, 66, 70, 74}));
  EXPECT_TRUE(config.owns_indexer(78));
  EXPECT_FALSE(config.dense(78));
  EXPECT_TRUE(config.dense(2));
  EXPECT_FALSE(config.dense(3));
  EXPECT_TRUE(config.has_draft_head());
}

// 1.3: the list, the pattern as text or list, frequency and offset; without any of them all layers are full (GLM-5).
TEST(GlmConfig, IndexerScheduleInEveryForm) {
  const std::vector<bool> released = parsed(test::released_glm_config()).has_own_indexer;
  const auto without_list = [](json& config) { config.erase("indexer_types"); };
  EXPECT_EQ(with(without_list).has_own_indexer, released);
  std::string pattern;
  json list;
  for (const bool full : released) {
    pattern += full ? 'F' : 'S';
    list.push_back(full ? "F" : "S");
  }
  for (const json& form : {json(pattern), list})
    EXPECT_EQ(with([&](json& config) {
                without_list(config);
                config["index_topk_pattern"] = form;
                config["index_topk_freq"] = 1;  // less than the pattern
              }).has_own_indexer,
              released);
  EXPECT_EQ(with([&](json& config) {
              without_list(config);
              config.erase("index_topk_freq");
              config.erase("index_skip_topk_offset");
            }).has_own_indexer,
            std::vector<bool>(78, true));
}

TEST(GlmConfig, ThetaInEveryForm) {
  EXPECT_EQ(with([](json& config) { config["rope_parameters"]["rope_theta"] = 1e6; }).rope_theta, 1e6f);
  EXPECT_EQ(with([](json& config) {
              config.erase("rope_parameters");
              config["rope_theta"] = 10000;
            }).rope_theta,
            1e4f);
  EXPECT_EQ(with([](json& config) { config["rope_theta"] = 8000000.0; }).rope_theta, 8e6f);
}

TEST(GlmConfig, LatentEpsilonByEitherName) {
  EXPECT_EQ(with([](json& config) { config["mla_norm_eps"] = 1e-6; }).latent_norm_eps, 1e-6f);
  EXPECT_EQ(with([](json& config) { config["latent_norm_eps"] = 1e-6; }).latent_norm_eps, 1e-6f);
  EXPECT_EQ(parsed(test::released_deepseek_v3_config()).latent_norm_eps, 1e-6f);
}

TEST(GlmConfig, MisleadingFieldsAreNotRead) {
  const GlmConfig config = with([](json& other) {
    other["head_dim"] = 64;
    other["quantization_config"] = {{"quant_method", "fp8"}, {"modules_to_not_convert", {"self_attn.indexers_proj"}}};
  });
  EXPECT_EQ(config.qk_head_dim(), 256);
}

// Effective scales of OLMoE's specification, section 6; they are 1 / sqrt(192) times the square of 0.1 ln(s) + 1.
TEST(GlmConfig, Relatives) {
  const GlmConfig deepseek = parsed(test::released_deepseek_v3_config());
  EXPECT_NEAR(deepseek.softmax_scale(), 0.135234, 5e-7);
  EXPECT_FALSE(deepseek.has_indexer);
  EXPECT_EQ(deepseek.n_group, 8);
  EXPECT_EQ(deepseek.stop_ids, std::vector<int>{1});
  json kimi = test::released_kimi_k2_config();
  EXPECT_NEAR(parsed(kimi).softmax_scale(), 0.130861, 5e-7);
  EXPECT_FALSE(parsed(kimi).has_draft_head());
  kimi["rope_scaling"]["factor"] = 64;
  EXPECT_NEAR(parsed(kimi).softmax_scale(), 0.144680, 5e-7);
}

// Fast pairs keep their frequency, slow ones are stretched by the factor, and those between mix both.
TEST(GlmConfig, YarnFrequencies) {
  const GlmConfig config = parsed(test::released_deepseek_v3_config());
  GlmConfig plain = config;
  plain.has_yarn = false;
  std::vector<float> cos(32), sin(32), plain_cos(32), plain_sin(32);
  const auto row = [](std::vector<float>& values) { return Rows{values.data(), 1, 32, 32}; };
  rope_angles(config).fill(1, row(cos), row(sin));
  rope_angles(plain).fill(1, row(plain_cos), row(plain_sin));
  // corr(32) = 64 ln(4096 / (64 pi)) / (2 ln 1e4) = 10.48, corr(1) = 22.51: ramp from pair 10 to pair 23.
  for (std::size_t pair = 0; pair < 32; ++pair) {
    const double angle = std::asin(static_cast<double>(sin[pair])),
                 before = std::asin(static_cast<double>(plain_sin[pair]));
    const double ramp = std::clamp((static_cast<double>(pair) - 10) / 13, 0.0, 1.0);
    EXPECT_NEAR(angle / before, 1 - ramp + ramp / 40, 1e-6) << pair;
  }
}

struct Fault {
  const char* field;
  std::function<void(json&)> edit;
};

TEST(GlmConfig, RefusesWhatItCannotRun) {
  const Fault faults[] = {
      {"indexer_rope_interleave", [](json& c) { c["indexer_rope_interleave"] = false; }},
      {"rope_interleave", [](json& c) { c["rope_interleave"] = false; }},
      {"rope_theta", [](json& c) { c["rope_parameters"].erase("rope_theta"); }},
      {"rope_theta", [](json& c) { c["rope_theta"] = 10000; }},
      {"rope_type", [](json& c) { c["rope_parameters"]["rope_type"] = "linear"; }},
      {"rope_scaling", [](json& c) { c["rope_scaling"] = test::released_deepseek_v3_config()["rope_scaling"]; }},
      {"mscale",
       [](json& c) {
         c["rope_scaling"] = {{"type", "yarn"}, {"mscale", 1}, {"mscale_all_dim", 0.5}};
       }},
      {"qk_head_dim", [](json& c) { c["qk_head_dim"] = 192; }},
      {"num_key_value_heads", [](json& c) { c["num_key_value_heads"] = 8; }},
      {"scoring_func", [](json& c) { c["scoring_func"] = "softmax"; }},
      {"hidden_act", [](json& c) { c["hidden_act"] = "gelu"; }},
      {"attention_bias", [](json& c) { c["attention_bias"] = true; }},
      {"tie_word_embeddings", [](json& c) { c["tie_word_embeddings"] = true; }},
      {"moe_layer_freq", [](json& c) { c["moe_layer_freq"] = 2; }},
      {"mlp_layer_types", [](json& c) { c["mlp_layer_types"][3] = "dense"; }},
      {"mlp_layer_types", [](json& c) { c["mlp_layer_types"].erase(0); }},
      {"mlp_layer_types", [](json& c) { c["mlp_layer_types"][3] = "other"; }},
      {"indexer_types", [](json& c) { c["indexer_types"][0] = "shared"; }},
      {"indexer_types", [](json& c) { c["indexer_types"].push_back("full"); }},
      {"indexer_types", [](json& c) { c["indexer_types"] = 3; }},
      {"index_head_dim", [](json& c) { c["index_head_dim"] = 32; }},
      {"n_group", [](json& c) { c["n_group"] = 3; }},
      {"topk_group", [](json& c) { c["n_group"] = 64, c["topk_group"] = 1; }},
      {"num_experts_per_tok", [](json& c) { c["num_experts_per_tok"] = 300; }},
      {"num_experts", [](json& c) { c["num_experts"] = 384; }},
      {"num_nextn_predict_layers", [](json& c) { c["num_nextn_predict_layers"] = 2; }},
      {"norm_topk_prob", [](json& c) { c.erase("norm_topk_prob"); }},
      {"routed_scaling_factor", [](json& c) { c.erase("routed_scaling_factor"); }},
      {"index_topk", [](json& c) { c.erase("index_topk"); }},
      {"mla_norm_eps", [](json& c) { c["mla_norm_eps"] = 1e-6, c["latent_norm_eps"] = 1e-5; }},
      {"eos_token_id", [](json& c) { c["eos_token_id"] = 154880; }},
      {"index_topk", [](json& c) { c["model_type"] = "deepseek_v3"; }},
  };
  for (const Fault& fault : faults) {
    json config = test::released_glm_config();
    fault.edit(config);
    const auto refused = parse_config(config.dump(), "config.json");
    ASSERT_FALSE(refused.has_value()) << fault.field;
    EXPECT_EQ(refused.error().kind, ErrorKind::bad_input);
    EXPECT_NE(refused.error().what.find(fault.field), std::string::npos) << refused.error().what;
  }
}

// Relatives that differ in more than numbers are refused by name, with the reason.
TEST(GlmConfig, RefusesOtherRelativesByName) {
  for (const char* type : {"deepseek_v32", "glm5_next"}) {
    json config = test::released_glm_config();
    config["model_type"] = type;
    const auto refused = read_model_config(config.dump(), "config.json");
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
    EXPECT_NE(refused.error().what.find(type), std::string::npos);
  }
  EXPECT_EQ(must(read_model_config(test::released_glm_config().dump(), "config.json"))->family(), "glm");
}

}  // namespace
}  // namespace sluice::glm_dsa
