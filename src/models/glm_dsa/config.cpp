// See config.h. Rules and values: spec section 1. A field that changes what is computed is required or has the default
// that the spec gives; a switch to something that is not built here is refused, never ignored. Deliberately not read:
// head_dim (three meanings in the family, 1.2) and quantization_config (formats are read off the tensors, 1.4).
#include "models/glm_dsa/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/exact_math.h"
#include "base/fields.h"
#include "models/common/blocks.h"
#include "models/common/config_rules.h"
#include "models/glm_dsa/indexer_layers.h"

namespace sluice::glm_dsa {

namespace {

constexpr float kReleaseLatentEps = 1e-5f;  // GLM: spec 3.2. Its relatives use rms_norm_eps.

struct Relative {
  const char* model_type;
  const char* why_not;  // null: it is run
};
constexpr Relative kRelatives[] = {
    {"glm_moe_dsa", nullptr},
    {"deepseek_v3", nullptr},
    {"kimi_k2", nullptr},
    {"deepseek_v32", "DeepSeek-V3.2's indexer rotates the halves of its heads, not neighbours"},
    {"glm5_next", "GLM-5.3-Flash has another architecture than GLM-5.3"},
};

const Relative* find_relative(std::string_view model_type) {
  const auto* const found = std::ranges::find(kRelatives, model_type, &Relative::model_type);
  return found == std::end(kRelatives) ? nullptr : found;
}

void read_sizes(const Fields& fields, GlmConfig& config) {
  config.vocab_size = fields.integer("vocab_size", {1, 1 << 22});
  config.hidden_size = fields.integer("hidden_size", kWidth);
  config.num_hidden_layers = fields.integer("num_hidden_layers", kLayers);
  config.intermediate_size = fields.integer("intermediate_size", kInner);
  config.rms_norm_eps = fields.number("rms_norm_eps", kEps);
  config.max_position_embeddings = fields.integer("max_position_embeddings", kPositions);
  may_say(fields, "hidden_act", "silu");
  may_be(fields, "tie_word_embeddings", false);
  may_be(fields, "attention_bias", false);
  config.num_nextn_predict_layers = fields.integer_or("num_nextn_predict_layers", 0, {0, 1});
}

// mla_norm_eps is sluice's own key for every family with latent norms; latent_norm_eps is the spec's name for it.
void read_latent_eps(const Fields& fields, GlmConfig& config) {
  const float usual = config.model_type == "glm_moe_dsa" ? kReleaseLatentEps : config.rms_norm_eps;
  const float named = fields.number_or("latent_norm_eps", usual, kEps);
  config.latent_norm_eps = fields.number_or("mla_norm_eps", named, kEps);
  if (fields.good("latent_norm_eps") && config.latent_norm_eps != named)
    fields.wrong("mla_norm_eps",
                 fmt::format("is {}, and latent_norm_eps is {}: they mean the same", config.latent_norm_eps, named));
}

void read_mla(const Fields& fields, GlmConfig& config) {
  config.num_attention_heads = fields.integer("num_attention_heads", kHeads);
  config.q_lora_rank = fields.integer("q_lora_rank", kWidth);
  config.kv_lora_rank = fields.integer("kv_lora_rank", kWidth);
  config.qk_nope_head_dim = fields.integer("qk_nope_head_dim", kHeadDim);
  config.qk_rope_head_dim = fields.integer("qk_rope_head_dim", kHeadDim);
  config.v_head_dim = fields.integer("v_head_dim", kHeadDim);
  read_latent_eps(fields, config);
  may_be(fields, "rope_interleave", true);
  const int value_heads = fields.integer_or("num_key_value_heads", config.num_attention_heads, kHeads);
  if (fields.good("num_key_value_heads") && fields.good("num_attention_heads") &&
      value_heads != config.num_attention_heads)
    fields.wrong("num_key_value_heads",
                 fmt::format("is {}, must equal num_attention_heads {}", value_heads, config.num_attention_heads));
  const bool widths = fields.good("qk_nope_head_dim") && fields.good("qk_rope_head_dim");
  if (const int width = fields.integer_or("qk_head_dim", config.qk_head_dim(), kInner);
      widths && fields.good("qk_head_dim") && width != config.qk_head_dim())
    fields.wrong("qk_head_dim", fmt::format("is {}, and its parts add up to {}", width, config.qk_head_dim()));
  if (fields.good("qk_rope_head_dim") && config.qk_rope_head_dim % 2 != 0)
    fields.wrong("qk_rope_head_dim", fmt::format("is {}, must be even", config.qk_rope_head_dim));
}

void read_scaling(const Fields& scaling, GlmConfig& config) {
  const char* const kind = scaling.has("rope_type") ? "rope_type" : "type";
  const std::string name = scaling.text_or(kind, "default");
  if (!scaling.good(kind) || name == "default") return;
  if (name != "yarn") return scaling.wrong(kind, fmt::format("is '{}', only 'default' and 'yarn' can be run", name));
  config.has_yarn = true;
  config.yarn.factor = scaling.number("factor", {1, 1e6});
  config.yarn.original_max_position_embeddings = scaling.integer("original_max_position_embeddings", kPositions);
  config.yarn.beta_fast = scaling.number("beta_fast", {1e-3, 1e6});
  config.yarn.beta_slow = scaling.number("beta_slow", {1e-3, 1e6});
  config.yarn.mscale = scaling.number("mscale", {1e-3, 1e3});
  config.yarn.mscale_all_dim = scaling.number("mscale_all_dim", {1e-3, 1e3});
  if (scaling.good("mscale") && scaling.good("mscale_all_dim") && config.yarn.mscale != config.yarn.mscale_all_dim)
    scaling.wrong("mscale", fmt::format("is {}, only the value of mscale_all_dim, {}, can be run", config.yarn.mscale,
                                        config.yarn.mscale_all_dim));
}

// `rope_parameters` of newer files, or `rope_theta` beside `rope_scaling` of older ones; one of them must say theta.
void read_rope(const Fields& fields, GlmConfig& config) {
  constexpr NumberRange kTheta{1.001, 1e12};
  const Fields parameters = fields.optional_object("rope_parameters"), scaling = fields.optional_object("rope_scaling");
  if (parameters.has("rope_theta")) {
    config.rope_theta = parameters.number("rope_theta", kTheta);
    if (const float outer = fields.number_or("rope_theta", config.rope_theta, kTheta);
        fields.good("rope_theta") && parameters.good("rope_theta") && outer != config.rope_theta)
      fields.wrong("rope_theta", fmt::format("is {}, and rope_parameters.rope_theta is {}", outer, config.rope_theta));
  } else {
    config.rope_theta = fields.number("rope_theta", kTheta);
  }
  read_scaling(scaling, config);
  read_scaling(parameters, config);
}

void read_indexer(const Fields& fields, GlmConfig& config) {
  config.has_indexer = config.model_type == "glm_moe_dsa";
  if (!config.has_indexer) {
    if (fields.has("index_topk"))
      fields.wrong("index_topk", fmt::format("is there, and {} has no indexer that can be run", config.model_type));
    return;
  }
  config.index_n_heads = fields.integer("index_n_heads", kHeads);
  config.index_head_dim = fields.integer("index_head_dim", kHeadDim);
  config.index_topk = fields.integer("index_topk", {1, 1 << 20});
  config.index_k_norm_eps = fields.number_or("index_k_norm_eps", config.index_k_norm_eps, kEps);
  may_be(fields, "indexer_rope_interleave", true);
  fields.flag_or("index_share_for_mtp_iteration",
                 true);  // drafting ahead always shares (spec 4.4): it changes no answer
  if (fields.good("index_head_dim") && fields.good("qk_rope_head_dim") &&
      config.index_head_dim < config.qk_rope_head_dim)
    fields.wrong("index_head_dim", fmt::format("is {}, less than the {} numbers that are rotated",
                                               config.index_head_dim, config.qk_rope_head_dim));
  if (config.has_yarn) fields.wrong("rope_scaling", "is yarn, which cannot be run together with an indexer");
  if (fields.good("num_hidden_layers")) config.has_own_indexer = read_indexer_layers(fields, config.num_hidden_layers);
}

// The list, or the number of dense layers at the start, or both in agreement.
void read_layer_kinds(const Fields& fields, GlmConfig& config) {
  const int layers = config.num_hidden_layers;
  const bool listed = fields.has("mlp_layer_types");
  if (!listed) fields.require("first_k_dense_replace");
  const int dense = fields.integer_or("first_k_dense_replace", 0, {0, layers});
  config.is_dense.assign(static_cast<std::size_t>(layers), false);
  std::fill_n(config.is_dense.begin(), std::min(dense, layers), true);
  if (!listed) return;
  const std::vector<std::string> kinds = fields.texts_or("mlp_layer_types", {});
  if (!fields.good("mlp_layer_types")) return;
  if (kinds.size() != config.is_dense.size())
    return fields.wrong("mlp_layer_types", fmt::format("has {} entries for {} layers", kinds.size(), layers));
  for (std::size_t layer = 0; layer < kinds.size(); ++layer) {
    if (kinds[layer] != "dense" && kinds[layer] != "sparse")
      return fields.wrong("mlp_layer_types", fmt::format("holds '{}', known are 'dense' and 'sparse'", kinds[layer]));
    const bool is_dense = kinds[layer] == "dense";
    if (fields.good("first_k_dense_replace") && is_dense != config.is_dense[layer])
      return fields.wrong("mlp_layer_types",
                          fmt::format("and first_k_dense_replace {} disagree about layer {}", dense, layer));
    config.is_dense[layer] = is_dense;
  }
}

void check_experts(const Fields& fields, const GlmConfig& config) {
  if (!fields.good("n_routed_experts")) return;
  const int experts = config.n_routed_experts;
  if (std::int64_t{experts} * config.num_hidden_layers > kMostExpertsInAll)
    fields.wrong("n_routed_experts",
                 fmt::format("is {}, absurdly many for {} layers", experts, config.num_hidden_layers));
  const std::int64_t widest = std::max(2 * config.moe_intermediate_size, config.hidden_size);
  if (fields.good("moe_intermediate_size") && fields.good("hidden_size") && experts * widest > kMostFusedRows)
    fields.wrong("n_routed_experts", fmt::format("is {}, absurdly many for their width", experts));
  if (fields.good("num_experts_per_tok") && config.num_experts_per_tok > experts)
    return fields.wrong("num_experts_per_tok",
                        fmt::format("is {}, more than n_routed_experts {}", config.num_experts_per_tok, experts));
  if (config.n_group == 1) return;
  const int group = experts / config.n_group;
  if (experts % config.n_group != 0 || group < 2)
    return fields.wrong("n_group", fmt::format("is {}, which does not cut {} experts into groups of two or more",
                                               config.n_group, experts));
  if (config.topk_group > config.n_group || config.topk_group * group < config.num_experts_per_tok)
    fields.wrong("topk_group", fmt::format("is {}: {} experts cannot be chosen from {} of {} groups", config.topk_group,
                                           config.num_experts_per_tok, config.topk_group, config.n_group));
}

void read_moe(const Fields& fields, GlmConfig& config) {
  config.n_routed_experts = fields.integer("n_routed_experts", kExperts);
  config.num_experts_per_tok = fields.integer("num_experts_per_tok", kExperts);
  config.n_shared_experts = fields.integer("n_shared_experts", {1, 256});
  config.moe_intermediate_size = fields.integer("moe_intermediate_size", kInner);
  config.n_group = fields.integer_or("n_group", 1, kExperts);
  config.topk_group = fields.integer_or("topk_group", 1, kExperts);
  config.routed_scaling_factor = fields.number("routed_scaling_factor", {1e-6, 1e6});
  config.norm_topk_prob = fields.flag("norm_topk_prob");
  may_say(fields, "scoring_func", "sigmoid");
  may_say(fields, "topk_method", "noaux_tc");
  may_be(fields, "moe_layer_freq", 1);
  if (const int same = fields.integer_or("num_experts", config.n_routed_experts, kExperts);
      fields.good("num_experts") && fields.good("n_routed_experts") && same != config.n_routed_experts)
    fields.wrong("num_experts", fmt::format("is {}, and n_routed_experts is {}", same, config.n_routed_experts));
  if (fields.good("num_hidden_layers")) read_layer_kinds(fields, config);
  check_experts(fields, config);
}

void read_stop_ids(const Fields& fields, GlmConfig& config) {
  config.stop_ids = one_or_more_ids(fields, "eos_token_id", {0, config.vocab_size - 1});
}

double mscale_of(double factor, double mscale) { return 0.1 * mscale * exact_log(factor) + 1; }

}  // namespace

float GlmConfig::softmax_scale() const {
  if (!has_yarn) return 1.0f / std::sqrt(static_cast<float>(qk_head_dim()));
  const double plain = 1 / std::sqrt(static_cast<double>(qk_head_dim()));
  const double correction = mscale_of(static_cast<double>(yarn.factor), static_cast<double>(yarn.mscale_all_dim));
  return static_cast<float>(plain * correction * correction);
}

bool knows(std::string_view model_type) { return find_relative(model_type) != nullptr; }

Result<GlmConfig> parse_config(std::string_view json, std::string_view where) {
  TRY_TAKE(const Fields fields, Fields::parse(json, where));
  GlmConfig config;
  config.model_type = fields.text("model_type");
  TRY(fields.outcome());
  const Relative* const relative = find_relative(config.model_type);
  if (relative == nullptr || relative->why_not != nullptr)
    return fail(ErrorKind::unsupported,
                fmt::format("{}: model_type '{}' cannot be run{}", where, config.model_type,
                            relative != nullptr ? fmt::format(": {}", relative->why_not) : ""),
                "its nearest relatives that can: glm_moe_dsa, deepseek_v3, kimi_k2");
  read_sizes(fields, config);
  read_mla(fields, config);
  read_rope(fields, config);
  read_indexer(fields, config);
  read_moe(fields, config);
  if (fields.good("vocab_size")) read_stop_ids(fields, config);
  TRY(fields.outcome());
  return config;
}

}  // namespace sluice::glm_dsa
