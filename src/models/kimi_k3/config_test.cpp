// The rules of spec section 1.3: what the release says is understood; whatever is missing or contradictory is named.
#include "models/kimi_k3/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/must.h"
#include "support/released_kimi_k3.h"

namespace sluice::kimi_k3 {
namespace {

using nlohmann::json;
using test::must;
using testing::AllOf, testing::ElementsAre, testing::HasSubstr, testing::Not;

const char* const kRequired[] = {"hidden_size",
                                 "num_hidden_layers",
                                 "vocab_size",
                                 "intermediate_size",
                                 "num_attention_heads",
                                 "q_lora_rank",
                                 "kv_lora_rank",
                                 "qk_nope_head_dim",
                                 "qk_rope_head_dim",
                                 "v_head_dim",
                                 "attn_res_block_size",
                                 "num_experts",
                                 "num_experts_per_token",
                                 "num_shared_experts",
                                 "moe_intermediate_size",
                                 "routed_expert_hidden_size",
                                 "first_k_dense_replace",
                                 "activation_situ_beta",
                                 "activation_situ_linear_beta",
                                 "rms_norm_eps",
                                 "routed_scaling_factor",
                                 "moe_renormalize",
                                 "latent_moe_use_norm",
                                 "mla_use_output_gate",
                                 "hidden_act",
                                 "mla_use_nope",
                                 "moe_router_activation_func",
                                 "linear_attn_config"};
const char* const kRequiredOfKda[] = {"num_heads",        "head_dim",         "short_conv_kernel_size",
                                      "gate_lower_bound", "full_attn_layers", "use_full_rank_gate"};

std::string refusal(const json& config) {
  const auto parsed = parse_config(config.dump(), "dir/config.json");
  EXPECT_FALSE(parsed);
  if (parsed) return "";
  EXPECT_EQ(parsed.error().kind, ErrorKind::bad_input);
  EXPECT_THAT(parsed.error().what, HasSubstr("dir/config.json: "));
  return parsed.error().what;
}

// Refusal of the released config with one field changed.
std::string with(const std::string& pointer, const json& value) {
  json config = test::released_kimi_k3_config();
  config[json::json_pointer(pointer)] = value;
  return refusal(config);
}
std::string with_text(const std::string& field, const json& value) { return with("/text_config/" + field, value); }
std::string with_kda(const std::string& field, const json& value) {
  return with("/text_config/linear_attn_config/" + field, value);
}

TEST(KimiK3Config, UnderstandsTheRelease) {
  const KimiK3Config config = must(parse_config(test::released_kimi_k3_config().dump(), "config.json"));
  EXPECT_EQ(config.vocab_size, 163840);
  EXPECT_EQ(config.hidden_size, 7168);
  EXPECT_EQ(config.num_hidden_layers, 93);
  EXPECT_EQ(config.intermediate_size, 33792);
  EXPECT_EQ(config.rms_norm_eps, 1e-5f);
  EXPECT_EQ(config.mla_norm_eps, 1e-6f);
  EXPECT_EQ(config.max_position_embeddings, 1048576);
  EXPECT_EQ(config.attn_res_block_size, 12);
  EXPECT_EQ(config.num_attention_heads, 96);
  EXPECT_EQ(config.q_lora_rank, 1536);
  EXPECT_EQ(config.kv_lora_rank, 512);
  EXPECT_EQ(config.qk_nope_head_dim, 128);
  EXPECT_EQ(config.qk_rope_head_dim, 64);
  EXPECT_EQ(config.v_head_dim, 128);
  EXPECT_EQ(config.kda_num_heads, 96);
  EXPECT_EQ(config.kda_head_dim, 128);
  EXPECT_EQ(config.short_conv_kernel_size, 4);
  EXPECT_EQ(config.gate_lower_bound, -5.0f);
  EXPECT_EQ(config.first_k_dense_replace, 1);
  EXPECT_EQ(config.num_experts, 896);
  EXPECT_EQ(config.num_experts_per_token, 16);
  EXPECT_EQ(config.num_shared_experts, 2);
  EXPECT_EQ(config.moe_intermediate_size, 3072);
  EXPECT_EQ(config.routed_expert_hidden_size, 3584);
  EXPECT_EQ(config.routed_scaling_factor, 1.0f);
  EXPECT_TRUE(config.moe_renormalize && config.latent_moe_use_norm);
  EXPECT_EQ(config.activation_situ_beta, 4.0f);
  EXPECT_EQ(config.activation_situ_linear_beta, 25.0f);
  EXPECT_EQ(config.bos_token_id, 163584);
  EXPECT_THAT(config.stop_ids, ElementsAre(163585, 163586, 163593));
  ASSERT_EQ(config.is_mla.size(), 93u);
  EXPECT_EQ(std::ranges::count(config.is_mla, true), 24);
  for (int layer : {3, 7, 87, 91, 92}) EXPECT_TRUE(config.is_mla[static_cast<std::size_t>(layer)]) << layer;
  for (int layer : {0, 4, 90}) EXPECT_FALSE(config.is_mla[static_cast<std::size_t>(layer)]) << layer;
}

TEST(KimiK3Config, NamesEachRequiredFieldThatIsGone) {
  for (const char* name : kRequired) {
    json config = test::released_kimi_k3_config();
    config["text_config"].erase(name);
    EXPECT_THAT(refusal(config), HasSubstr(std::string("missing text_config.") + name));
    config["text_config"][name] = nullptr;
    EXPECT_THAT(refusal(config), HasSubstr(std::string("missing text_config.") + name));
  }
  for (const char* name : kRequiredOfKda) {
    json config = test::released_kimi_k3_config();
    config["text_config"]["linear_attn_config"].erase(name);
    EXPECT_THAT(refusal(config), HasSubstr(std::string("missing text_config.linear_attn_config.") + name));
  }
}

// Nothing but the missing fields is told, and all of them are.
TEST(KimiK3Config, NamesAllMissingFieldsAtOnce) {
  json config = test::released_kimi_k3_config();
  for (const char* name : kRequired)
    if (std::string_view(name) != "linear_attn_config") config["text_config"].erase(name);
  for (const char* name : kRequiredOfKda) config["text_config"]["linear_attn_config"].erase(name);
  const std::string told = refusal(config);
  for (const char* name : kRequired) {
    if (std::string_view(name) == "linear_attn_config") continue;
    EXPECT_THAT(told, HasSubstr(std::string("text_config.") + name));
  }
  for (const char* name : kRequiredOfKda) EXPECT_THAT(told, HasSubstr(std::string("linear_attn_config.") + name));
  EXPECT_THAT(told, Not(HasSubstr(";")));
}

TEST(KimiK3Config, RequiresTheNestedLayout) {
  json flat = test::released_kimi_k3_config()["text_config"];
  EXPECT_THAT(refusal(flat), HasSubstr("missing text_config"));
}

TEST(KimiK3Config, RefusesLayerMapsThatAreNone) {
  EXPECT_THAT(with_kda("full_attn_layers", {0, 4}), HasSubstr("full_attn_layers holds 0, each must be"));
  EXPECT_THAT(with_kda("full_attn_layers", {4, 94}), HasSubstr("full_attn_layers holds 94, each must be"));
  EXPECT_THAT(with_kda("full_attn_layers", {4, 4}), HasSubstr("full_attn_layers holds layer 4 twice"));
  EXPECT_THAT(with_kda("full_attn_layers", 4), HasSubstr("full_attn_layers is 4, must be a list"));
  EXPECT_THAT(with_kda("kda_layers", {1, 2, 3}), HasSubstr("kda_layers and full_attn_layers both lack layer 5"));
  json all = json::array();
  for (int layer = 1; layer <= 93; ++layer) all.push_back(layer);
  EXPECT_THAT(with_kda("kda_layers", all), HasSubstr("both hold layer 4"));
  EXPECT_THAT(with_kda("full_attn_layers", all), HasSubstr("leaves no layer for KDA"));
}

TEST(KimiK3Config, RefusesWhatItCannotRun) {
  EXPECT_THAT(with_text("hidden_act", "silu"), HasSubstr("hidden_act is 'silu'"));
  EXPECT_THAT(with_text("mla_use_nope", false), HasSubstr("mla_use_nope is false"));
  EXPECT_THAT(with_text("mla_use_output_gate", false), HasSubstr("mla_use_output_gate is false"));
  EXPECT_THAT(with_kda("use_full_rank_gate", false), HasSubstr("use_full_rank_gate is false"));
  EXPECT_THAT(with_text("moe_router_activation_func", "softmax"), HasSubstr("'softmax'"));
  EXPECT_THAT(with_text("num_expert_group", 2), HasSubstr("num_expert_group is 2"));
  EXPECT_THAT(with_text("topk_group", 4), HasSubstr("topk_group is 4"));
  EXPECT_THAT(with_text("topk_method", "greedy"), HasSubstr("topk_method"));
  EXPECT_THAT(with_text("moe_layer_freq", 2), HasSubstr("moe_layer_freq is 2"));
  EXPECT_THAT(with_text("num_nextn_predict_layers", 1), HasSubstr("num_nextn_predict_layers is 1"));
  EXPECT_THAT(with_text("tie_word_embeddings", true), HasSubstr("text_config.tie_word_embeddings is true"));
  EXPECT_THAT(with("/tie_word_embeddings", true), HasSubstr("tie_word_embeddings is true"));
  EXPECT_THAT(with_text("quantization_config/config_groups/group_0/weights/group_size", 16),
              HasSubstr("group_0.weights.group_size is 16"));
  EXPECT_THAT(with_text("quantization_config/config_groups/group_0/weights/num_bits", 8), HasSubstr("num_bits is 8"));
}

TEST(KimiK3Config, RefusesContradictionsAndAbsurdSizes) {
  EXPECT_THAT(with_text("num_experts_per_token", 9999),
              HasSubstr("num_experts_per_token is 9999, more than num_experts 896"));
  EXPECT_THAT(with_text("first_k_dense_replace", 94),
              HasSubstr("first_k_dense_replace is 94, more than num_hidden_layers 93"));
  EXPECT_THAT(with_text("num_key_value_heads", 8), HasSubstr("num_key_value_heads is 8, must equal"));
  EXPECT_THAT(with_kda("num_heads", 129), HasSubstr("num_heads is 129, more than head_dim 128"));
  EXPECT_THAT(with_kda("gate_lower_bound", -5.5), HasSubstr("gate_lower_bound is -5.5"));
  EXPECT_THAT(with_kda("gate_lower_bound", 0), HasSubstr("gate_lower_bound is 0"));
  EXPECT_THAT(with_kda("short_conv_kernel_size", 0), HasSubstr("short_conv_kernel_size is 0"));
  EXPECT_THAT(with_text("moe_intermediate_size", 3088),
              HasSubstr("moe_intermediate_size is 3088, not a multiple of the 32"));
  EXPECT_THAT(with_text("routed_expert_hidden_size", 48), HasSubstr("routed_expert_hidden_size is 48, not a multiple"));
  EXPECT_THAT(with_text("hidden_size", 2000000000), HasSubstr("hidden_size is 2000000000, must be"));
  EXPECT_THAT(with_text("hidden_size", -7168), HasSubstr("hidden_size is -7168"));
  EXPECT_THAT(with_text("hidden_size", "7168"), HasSubstr("hidden_size is \"7168\""));
  EXPECT_THAT(with_text("rms_norm_eps", 0), HasSubstr("rms_norm_eps is 0"));
  EXPECT_THAT(with_text("activation_situ_beta", -4), HasSubstr("activation_situ_beta is -4"));
  EXPECT_THAT(with_text("eos_token_id", 163840), HasSubstr("eos_token_id is 163840"));
  json config = test::released_kimi_k3_config();
  config["text_config"]["num_hidden_layers"] = 999;
  config["text_config"]["num_experts"] = 65000;
  EXPECT_THAT(refusal(config), AllOf(HasSubstr("absurdly many"), HasSubstr("both lack layer 94")));
}

// Faults of different kinds come out together, none hides another.
TEST(KimiK3Config, TellsMissingAndContradictoryFieldsTogether) {
  json config = test::released_kimi_k3_config();
  json& text = config["text_config"];
  text.erase("q_lora_rank");
  text["num_experts_per_token"] = 9999;
  text["num_expert_group"] = 8;
  text["linear_attn_config"]["full_attn_layers"] = {0};
  text["linear_attn_config"].erase("num_heads");
  EXPECT_THAT(refusal(config),
              AllOf(HasSubstr("missing text_config.q_lora_rank, text_config.linear_attn_config.num_heads"),
                    HasSubstr("num_experts_per_token is 9999"), HasSubstr("num_expert_group is 8"),
                    HasSubstr("full_attn_layers holds 0")));
}

TEST(KimiK3Config, OptionalFieldsHaveTheReleasesValues) {
  json config = test::released_kimi_k3_config();
  json& text = config["text_config"];
  for (const char* name : {"num_key_value_heads", "max_position_embeddings", "moe_layer_freq", "num_expert_group",
                           "topk_group", "topk_method", "use_grouped_topk", "num_nextn_predict_layers",
                           "tie_word_embeddings", "quantization_config", "bos_token_id", "eos_token_id"})
    text.erase(name);
  config.erase("bos_token_id");
  config.erase("eos_token_id");
  text["linear_attn_config"].erase("kda_layers");
  text["mla_norm_eps"] = 1e-5;
  const KimiK3Config parsed = must(parse_config(config.dump(), "config.json"));
  EXPECT_EQ(parsed.mla_norm_eps, 1e-5f);
  EXPECT_EQ(parsed.max_position_embeddings, 1048576);
  EXPECT_THAT(parsed.stop_ids, ElementsAre(163585, 163586, 163593));
  text["vocab_size"] = 1000;
  EXPECT_THAT(refusal(config), HasSubstr("vocab_size is 1000, too small"));
  text["bos_token_id"] = 744;
  text["eos_token_id"] = {747, 745};
  EXPECT_THAT(must(parse_config(config.dump(), "config.json")).stop_ids, ElementsAre(745, 746, 747, 753));
}

}  // namespace
}  // namespace sluice::kimi_k3
