// config.json of DeepSeek-V4: the released values of Flash and Pro, every rule of spec section 1, and faults.
#include "models/deepseek_v4/config.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "support/must.h"
#include "support/released_deepseek_v4.h"

namespace sluice::deepseek_v4 {
namespace {

using nlohmann::json;
using test::must;

V4Config parsed(const json& config) { return must(parse_config(config.dump(), "config.json")); }

std::vector<int> layers_of_ratio(const V4Config& config, int ratio) {
  std::vector<int> layers;
  for (int layer = 0; layer < config.num_hidden_layers; ++layer)
    if (config.ratio(layer) == ratio) layers.push_back(layer);
  return layers;
}

TEST(DeepSeekV4Config, Flash) {
  const V4Config config = parsed(test::released_v4_flash_config());
  EXPECT_EQ(config.hidden_size, 4096);
  EXPECT_EQ(config.group_width(), 4096);
  EXPECT_EQ(config.o_width(), 8192);
  EXPECT_EQ(config.mixes(), 24);
  EXPECT_EQ(config.streams_width(), 16384);
  EXPECT_EQ(layers_of_ratio(config, 0), (std::vector<int>{0, 1}));
  EXPECT_EQ(layers_of_ratio(config, 4).size(), 21u);
  EXPECT_EQ(layers_of_ratio(config, 4).back(), 42);
  EXPECT_EQ(layers_of_ratio(config, 128).size(), 20u);
  EXPECT_TRUE(config.hash_routed(2));
  EXPECT_FALSE(config.hash_routed(3));
  EXPECT_TRUE(config.has_draft_head());
  EXPECT_EQ(config.ratio(43), 0);  // the MTP block
  EXPECT_FALSE(config.hash_routed(43));
  EXPECT_EQ(config.compressor_rows(2, 512), 1024);
  EXPECT_EQ(config.compressor_rows(3, 512), 512);
  EXPECT_EQ(config.stop_ids, (std::vector<int>{1}));
}

TEST(DeepSeekV4Config, Pro) {
  const V4Config config = parsed(test::released_v4_pro_config());
  EXPECT_EQ(config.q_width(), 65536);
  EXPECT_EQ(config.group_width(), 4096);
  EXPECT_EQ(config.o_width(), 16384);
  EXPECT_TRUE(layers_of_ratio(config, 0).empty());
  EXPECT_EQ(layers_of_ratio(config, 4).size(), 30u);
  EXPECT_EQ(layers_of_ratio(config, 128).size(), 31u);
  EXPECT_EQ(config.index_topk, 1024);
}

// Later releases store three stages of DSpark: more zeros in the list, and no MTP block that could be run.
TEST(DeepSeekV4Config, DSparkIsKnownAndNotRun) {
  json config = test::released_v4_flash_config();
  config["dspark_block_size"] = 5;
  config["compress_ratios"].push_back(0);
  config["compress_ratios"].push_back(0);
  const V4Config read = parsed(config);
  EXPECT_TRUE(read.has_dspark);
  EXPECT_FALSE(read.has_draft_head());
  EXPECT_EQ(read.compress_ratios.size(), 43u);
}

TEST(DeepSeekV4Config, WithoutCompressionNothingOfItIsNeeded) {
  json config = test::released_v4_flash_config();
  config["num_hidden_layers"] = 2;
  config["num_hash_layers"] = 1;
  config["compress_ratios"] = {0, 0, 0};
  for (const char* name : {"rope_scaling", "compress_rope_theta", "index_topk", "index_n_heads", "index_head_dim"})
    config.erase(name);
  EXPECT_EQ(parsed(config).index_topk, 0);
}

// A config as transformers 5.15 saves it: other names, the same model but for the draft module.
json by_other_names(json config) {
  const int layers = config["num_hidden_layers"];
  const std::map<int, const char*> kinds = {
      {0, "sliding_attention"}, {4, "compressed_sparse_attention"}, {128, "heavily_compressed_attention"}};
  for (int layer = 0; layer < layers; ++layer) {
    config["layer_types"].push_back(kinds.at(config["compress_ratios"][static_cast<std::size_t>(layer)]));
    config["mlp_layer_types"].push_back(layer < config["num_hash_layers"] ? "hash_moe" : "moe");
  }
  config["compress_rates"] = {{"compressed_sparse_attention", 4}, {"heavily_compressed_attention", 128}};
  config["partial_rotary_factor"] = 0.125;
  json compress = config["rope_scaling"];
  compress.erase("type");
  compress.update({{"rope_type", "yarn"},
                   {"attention_factor", 1.0},
                   {"partial_rotary_factor", 0.125},
                   {"rope_theta", config["compress_rope_theta"]}});
  const json main = {{"rope_type", "default"}, {"partial_rotary_factor", 0.125}, {"rope_theta", config["rope_theta"]}};
  config["rope_parameters"] = {{"main", main}, {"compress", compress}};
  for (const char* name : {"compress_ratios", "num_hash_layers", "qk_rope_head_dim", "rope_scaling", "topk_method",
                           "expert_dtype", "quantization_config"})
    config.erase(name);
  return config;
}

void expect_same_model(const V4Config& other, const V4Config& released) {
  EXPECT_EQ(other.compress_ratios, released.compress_ratios);
  EXPECT_EQ(other.num_hash_layers, released.num_hash_layers);
  EXPECT_EQ(other.qk_rope_head_dim, released.qk_rope_head_dim);
  EXPECT_EQ(other.rope_theta, released.rope_theta);
  EXPECT_EQ(other.compress_rope_theta, released.compress_rope_theta);
  EXPECT_EQ(other.yarn.factor, released.yarn.factor);
  EXPECT_EQ(other.yarn.original_max_position_embeddings, released.yarn.original_max_position_embeddings);
  EXPECT_EQ(other.yarn.beta_fast, released.yarn.beta_fast);
  EXPECT_EQ(other.yarn.beta_slow, released.yarn.beta_slow);
}

TEST(DeepSeekV4Config, NamesOfTransformersSayTheSame) {
  for (const json& config : {test::released_v4_flash_config(), test::released_v4_pro_config()}) {
    const json other = by_other_names(config);
    expect_same_model(parsed(other), parsed(config));
    EXPECT_FALSE(parsed(other).has_draft_head());  // not among what transformers saves
    json flat = other;                             // as hand-written ones say it
    flat["rope_parameters"] = other["rope_parameters"]["compress"];
    flat["rope_parameters"].erase("rope_theta");
    expect_same_model(parsed(flat), parsed(config));
    json both = config;
    both["layer_types"] = other["layer_types"];
    EXPECT_TRUE(parsed(both).has_draft_head());
    json older = other;
    older.erase("compress_rates");
    older["compress_rate_hca"] = 64;
    EXPECT_EQ(layers_of_ratio(parsed(older), 64), layers_of_ratio(parsed(config), 128));
  }
}

struct Fault {
  const char* field;
  json value;  // null: the field is missing
  const char* said;
};

void expect_refused(json config, const Fault& fault) {
  if (fault.value.is_null())
    config.erase(fault.field);
  else
    config[fault.field] = fault.value;
  const Result<V4Config> read = parse_config(config.dump(), "config.json");
  ASSERT_FALSE(read) << fault.field;
  EXPECT_NE(read.error().what.find(fault.said), std::string::npos) << read.error().what;
  EXPECT_NE(read.error().what.find("config.json"), std::string::npos) << read.error().what;
}

TEST(DeepSeekV4Config, FaultsAreNamed) {
  const json flash = test::released_v4_flash_config();
  json short_list = flash["compress_ratios"], long_list = short_list, tail = short_list, strange = short_list;
  short_list.erase(43);
  long_list.push_back(0);
  tail[43] = 4;
  strange[5] = 2;
  for (const Fault& fault : std::initializer_list<Fault>{
           {"compress_ratios", nullptr, "compress_ratios"},
           {"hc_mult", nullptr, "hc_mult"},
           {"swiglu_limit", nullptr, "swiglu_limit"},
           {"compress_rope_theta", nullptr, "compress_rope_theta"},
           {"rope_scaling", nullptr, "rope_scaling"},
           {"index_topk", nullptr, "index_topk"},
           {"norm_topk_prob", nullptr, "norm_topk_prob"},
           {"compress_ratios", short_list, "has 43 entries for 43 layers and 1 MTP blocks"},
           {"compress_ratios", long_list, "has 45 entries"},
           {"compress_ratios", tail, "ends in other numbers"},
           {"compress_ratios", strange, "holds 2"},
           {"o_groups", 7, "o_groups is 7, which does not divide 64 heads"},
           {"qk_rope_head_dim", 63, "must be even"},
           {"qk_rope_head_dim", 256, "index_head_dim is 128, less than the 256"},
           {"head_dim", 32, "head_dim is 32, less than the 64"},
           {"num_key_value_heads", 2, "num_key_value_heads is 2"},
           {"n_shared_experts", 2, "n_shared_experts is 2"},
           {"scoring_func", "sigmoid", "scoring_func is 'sigmoid'"},
           {"topk_method", "greedy", "topk_method is 'greedy'"},
           {"expert_dtype", "nvfp4", "expert_dtype is 'nvfp4'"},
           {"tie_word_embeddings", true, "tie_word_embeddings is true"},
           {"num_experts_per_tok", 300, "more than n_routed_experts"},
           {"num_hash_layers", 44, "num_hash_layers"},
           {"num_nextn_predict_layers", 2, "num_nextn_predict_layers"},
           {"eos_token_id", 129280, "eos_token_id"},
           {"rope_scaling", {{"type", "linear"}, {"factor", 2}}, "'linear'"},
           {"hidden_size", "wide", "hidden_size"},
       })
    expect_refused(flash, fault);
}

TEST(DeepSeekV4Config, AFieldIsNotBlamedForAnother) {
  for (json config : {test::released_v4_flash_config(), by_other_names(test::released_v4_flash_config())}) {
    config["num_hidden_layers"] = "many";
    const Result<V4Config> read = parse_config(config.dump(), "config.json");
    ASSERT_FALSE(read);
    for (const char* other : {"num_hash_layers", "layer_types", "compress_ratios"})
      EXPECT_EQ(read.error().what.find(other), std::string::npos) << read.error().what;
  }
}

TEST(DeepSeekV4Config, FaultsByOtherNamesAreNamed) {
  const json other = by_other_names(test::released_v4_flash_config());
  json few = other["layer_types"], strange = few, scored_first = other["mlp_layer_types"];
  few.erase(42);
  strange[7] = "full_attention";
  scored_first[0] = "moe";
  const auto rope = [&](const char* part, const char* name, const json& value) {
    json parameters = other["rope_parameters"];
    parameters[part][name] = value;
    return parameters;
  };
  for (const Fault& fault : std::initializer_list<Fault>{
           {"layer_types", few, "layer_types has 42 entries for 43 layers"},
           {"layer_types", strange, "layer_types holds 'full_attention'"},
           {"layer_types", nullptr, "compress_ratios"},
           {"mlp_layer_types", scored_first, "mlp_layer_types holds 'hash_moe' behind others"},
           {"mlp_layer_types", nullptr, "num_hash_layers"},
           {"partial_rotary_factor", 0.13, "partial_rotary_factor is 0.13"},
           {"partial_rotary_factor", nullptr, "qk_rope_head_dim"},
           {"compress_rates", {{"compressed_sparse_attention", 8}}, "entries of 8 positions for the indexer"},
           {"compress_rates", {{"heavily_compressed_attention", 4}}, "entries of 4 positions without an indexer"},
           {"rope_parameters", nullptr, "rope_scaling"},
           {"rope_parameters", rope("compress", "rope_type", "linear"),
            "rope_parameters.compress.rope_type is 'linear'"},
           {"rope_parameters", rope("compress", "attention_factor", 1.277),
            "rope_parameters.compress.attention_factor"},
           {"rope_parameters", rope("compress", "truncate", false), "rope_parameters.compress.truncate"},
           {"rope_parameters", rope("compress", "factor", nullptr), "rope_parameters.compress.factor"},
           {"rope_parameters", rope("compress", "rope_theta", 5000), "and compress_rope_theta says otherwise"},
           {"rope_parameters", rope("main", "partial_rotary_factor", 0.25), "the whole model's is another"},
           {"rope_parameters", rope("main", "rope_type", "yarn"), "rope_parameters.main.rope_type is 'yarn'"},
       })
    expect_refused(other, fault);
  json both = test::released_v4_flash_config();
  both["layer_types"] = by_other_names(test::released_v4_pro_config())["layer_types"];
  both["layer_types"].erase(both["layer_types"].begin() + 43, both["layer_types"].end());
  expect_refused(both, {"hc_mult", 4, "layer_types are others than compress_ratios says"});
}

TEST(DeepSeekV4Config, OtherModelsAreRefusedAsSuch) {
  json config = test::released_v4_flash_config();
  config["engram_layers"] = {1, 2};
  const Result<V4Config> read = parse_config(config.dump(), "config.json");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::unsupported);
  EXPECT_FALSE(knows("deepseek_v4_1"));
}

}  // namespace
}  // namespace sluice::deepseek_v4
