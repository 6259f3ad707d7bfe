// See config.h. Rules and values: spec section 1. A field that changes what is computed is required; a switch to
// something that is not built here is refused, never ignored. Deliberately not read: quantization_config (formats are
// read off the tensors).
#include "models/deepseek_v4/config.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/fields.h"
#include "models/common/blocks.h"
#include "models/common/config_rules.h"
#include "models/deepseek_v4/other_fields.h"

namespace sluice::deepseek_v4 {

namespace {

constexpr std::string_view kModelType = "deepseek_v4";
constexpr IntRange kStreamCounts{1, 16};

void read_sizes(const Fields& fields, V4Config& config) {
  config.vocab_size = fields.integer("vocab_size", {1, 1 << 22});
  config.hidden_size = fields.integer("hidden_size", kWidth);
  config.num_hidden_layers = fields.integer("num_hidden_layers", kLayers);
  config.rms_norm_eps = fields.number("rms_norm_eps", kEps);
  config.max_position_embeddings = fields.integer("max_position_embeddings", kPositions);
  config.num_nextn_predict_layers = fields.integer_or("num_nextn_predict_layers", 0, {0, 1});
  if (layers_by_name(fields)) config.num_nextn_predict_layers = 0;
  config.has_dspark = std::ranges::any_of(fields.names(), [](const auto& name) { return name.starts_with("dspark_"); });
  may_say(fields, "hidden_act", "silu");
  may_be(fields, "tie_word_embeddings", false);
  may_be(fields, "attention_bias", false);
  may_be(fields, "mlp_bias", false);
}

void read_streams(const Fields& fields, V4Config& config) {
  config.hc_mult = fields.integer("hc_mult", kStreamCounts);
  config.hc_sinkhorn_iters = fields.integer("hc_sinkhorn_iters", {1, 1000});
  config.hc_eps = fields.number("hc_eps", kEps);
}

void read_attention(const Fields& fields, V4Config& config) {
  config.num_attention_heads = fields.integer("num_attention_heads", kHeads);
  config.head_dim = fields.integer("head_dim", kHeadDim);
  config.qk_rope_head_dim = fields.has("qk_rope_head_dim") || !fields.has("partial_rotary_factor")
                                ? fields.integer("qk_rope_head_dim", kHeadDim)
                                : rotated_of_factor(fields, config.head_dim);
  config.q_lora_rank = fields.integer("q_lora_rank", kWidth);
  config.o_groups = fields.integer("o_groups", kHeads);
  config.o_lora_rank = fields.integer("o_lora_rank", kWidth);
  config.sliding_window = fields.integer("sliding_window", {1, 1 << 20});
  may_be(fields, "num_key_value_heads", 1);
  if (fields.good("num_attention_heads") && fields.good("head_dim") && config.q_width() > kInner.most)
    fields.wrong("num_attention_heads",
                 fmt::format("is {}, absurdly many of {}", config.num_attention_heads, config.head_dim));
  if (fields.good("o_groups") && fields.good("num_attention_heads") &&
      config.num_attention_heads % config.o_groups != 0)
    fields.wrong("o_groups",
                 fmt::format("is {}, which does not divide {} heads", config.o_groups, config.num_attention_heads));
  if (!fields.good("qk_rope_head_dim")) return;
  if (config.qk_rope_head_dim % 2 != 0)
    fields.wrong("qk_rope_head_dim", fmt::format("is {}, must be even", config.qk_rope_head_dim));
  if (fields.good("head_dim") && config.head_dim < config.qk_rope_head_dim)
    fields.wrong("head_dim", fmt::format("is {}, less than the {} numbers that are rotated", config.head_dim,
                                         config.qk_rope_head_dim));
}

// The list has an entry for every layer and for the MTP block; releases with DSpark say nothing about how many more.
void read_ratios(const Fields& fields, V4Config& config) {
  if (layers_by_name(fields)) {
    if (fields.good("num_hidden_layers")) config.compress_ratios = ratios_of_names(fields, config.num_hidden_layers);
    return;
  }
  std::vector<int> listed = fields.integers("compress_ratios", {0, 1 << 20});
  if (!fields.good("compress_ratios") || !fields.good("num_hidden_layers")) return;
  const auto layers = static_cast<std::size_t>(config.num_hidden_layers);
  const std::size_t least = layers + static_cast<std::size_t>(config.num_nextn_predict_layers);
  if (listed.size() < least || (listed.size() > least && !config.has_dspark))
    return fields.wrong("compress_ratios", fmt::format("has {} entries for {} layers and {} MTP blocks", listed.size(),
                                                       layers, config.num_nextn_predict_layers));
  for (const int ratio : listed)
    if (ratio != 0 && ratio < kIndexedRatio)
      return fields.wrong("compress_ratios",
                          fmt::format("holds {}: known are 0, 4 and more (less is DeepSeek-V4.1's)", ratio));
  if (std::any_of(listed.begin() + static_cast<std::ptrdiff_t>(layers), listed.end(), [](int r) { return r != 0; }))
    return fields.wrong("compress_ratios", "ends in other numbers than the zeros of MTP blocks");
  listed.resize(layers);
  config.compress_ratios = std::move(listed);
  if (fields.has("layer_types") && ratios_of_names(fields, config.num_hidden_layers) != config.compress_ratios &&
      fields.good("layer_types"))
    fields.wrong("layer_types", "are others than compress_ratios says");
}

void read_rope(const Fields& fields, V4Config& config) {
  const bool compresses = std::ranges::any_of(config.compress_ratios, [](int ratio) { return ratio != 0; });
  const RopeFields rope = read_rope_fields(fields, compresses);
  config.rope_theta = rope.theta;
  config.compress_rope_theta = rope.compress_theta;
  config.yarn = rope.yarn;
}

void read_indexer(const Fields& fields, V4Config& config) {
  if (std::ranges::none_of(config.compress_ratios, [](int ratio) { return ratio == kIndexedRatio; })) return;
  config.index_n_heads = fields.integer("index_n_heads", kHeads);
  config.index_head_dim = fields.integer("index_head_dim", kHeadDim);
  config.index_topk = fields.integer("index_topk", {1, 1 << 20});
  if (fields.good("index_head_dim") && fields.good("qk_rope_head_dim") &&
      config.index_head_dim < config.qk_rope_head_dim)
    fields.wrong("index_head_dim", fmt::format("is {}, less than the {} numbers that are rotated",
                                               config.index_head_dim, config.qk_rope_head_dim));
}

void check_experts(const Fields& fields, const V4Config& config) {
  if (!fields.good("n_routed_experts")) return;
  const int experts = config.n_routed_experts;
  if (std::int64_t{experts} * (config.num_hidden_layers + 1) > kMostExpertsInAll)
    fields.wrong("n_routed_experts",
                 fmt::format("is {}, absurdly many for {} layers", experts, config.num_hidden_layers));
  const std::int64_t widest = std::max(2 * config.moe_intermediate_size, config.hidden_size);
  if (fields.good("moe_intermediate_size") && fields.good("hidden_size") && experts * widest > kMostFusedRows)
    fields.wrong("n_routed_experts", fmt::format("is {}, absurdly many for their width", experts));
  if (fields.good("num_experts_per_tok") && config.num_experts_per_tok > experts)
    fields.wrong("num_experts_per_tok",
                 fmt::format("is {}, more than n_routed_experts {}", config.num_experts_per_tok, experts));
}

void read_moe(const Fields& fields, V4Config& config) {
  config.n_routed_experts = fields.integer("n_routed_experts", kExperts);
  config.num_experts_per_tok = fields.integer("num_experts_per_tok", kExperts);
  config.moe_intermediate_size = fields.integer("moe_intermediate_size", kInner);
  config.num_hash_layers =
      fields.has("num_hash_layers") || !fields.has("mlp_layer_types")
          ? fields.integer("num_hash_layers",
                           {0, fields.good("num_hidden_layers") ? config.num_hidden_layers : kLayers.most})
      : fields.good("num_hidden_layers") ? hash_layers_of_names(fields, config.num_hidden_layers)
                                         : 0;
  config.norm_topk_prob = fields.flag("norm_topk_prob");
  config.routed_scaling_factor = fields.number("routed_scaling_factor", {1e-6, 1e6});
  config.swiglu_limit = fields.number("swiglu_limit", {1e-6, 1e6});
  may_be(fields, "n_shared_experts", 1);
  must_say(fields, "scoring_func", "sqrtsoftplus");
  may_say(fields, "topk_method", "noaux_tc");
  const std::string dtype = fields.text_or("expert_dtype", "fp4");
  if (fields.good("expert_dtype") && dtype != "fp4" && dtype != "fp8")
    fields.wrong("expert_dtype", fmt::format("is '{}', known are 'fp4' and 'fp8'", dtype));
  check_experts(fields, config);
}

Result<> refuse_other_models(const Fields& fields, std::string_view model_type, std::string_view where) {
  const bool engram =
      std::ranges::any_of(fields.names(), [](const auto& name) { return name.find("engram") != std::string::npos; });
  if (model_type == kModelType && !engram) return {};
  return fail(ErrorKind::unsupported,
              fmt::format("{}: model_type '{}'{} cannot be run", where, model_type,
                          engram ? " with an Engram, as DeepSeek-V4.1 has it," : ""),
              "its nearest relatives that can: DeepSeek-V4-Flash and DeepSeek-V4-Pro");
}

}  // namespace

bool knows(std::string_view model_type) { return model_type == kModelType; }

Result<V4Config> parse_config(std::string_view json, std::string_view where) {
  TRY_TAKE(const Fields fields, Fields::parse(json, where));
  const std::string model_type = fields.text("model_type");
  TRY(fields.outcome());
  TRY(refuse_other_models(fields, model_type, where));
  V4Config config;
  read_sizes(fields, config);
  read_streams(fields, config);
  read_attention(fields, config);
  read_ratios(fields, config);
  read_rope(fields, config);
  read_indexer(fields, config);
  read_moe(fields, config);
  if (fields.good("vocab_size")) config.stop_ids = one_or_more_ids(fields, "eos_token_id", {0, config.vocab_size - 1});
  TRY(fields.outcome());
  return config;
}

}  // namespace sluice::deepseek_v4
