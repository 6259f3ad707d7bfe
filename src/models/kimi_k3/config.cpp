// See config.h. Rules and values: spec section 1.3. A field that the release has and that changes what is computed is
// required; a switch to something that is not built here is refused, never ignored.
#include "models/kimi_k3/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "base/fields.h"
#include "models/common/config_rules.h"

namespace sluice::kimi_k3 {

namespace {

constexpr NumberRange kCap{1e-3, 1e6};

constexpr int kReleaseBos = 163584, kReleaseEos = 163586, kReleasePositions = 1048576;
constexpr int kMxfp4Columns = 32;
// Ends of document, message and turn, counted from [BOS] (spec 5.5 and 6.5).
constexpr int kStops[] = {1, 2, 9};

void read_sizes(const Fields& text, KimiK3Config& config) {
  config.vocab_size = text.integer("vocab_size", {1, 1 << 22});
  config.hidden_size = text.integer("hidden_size", kWidth);
  config.num_hidden_layers = text.integer("num_hidden_layers", kLayers);
  config.intermediate_size = text.integer("intermediate_size", kInner);
  config.rms_norm_eps = text.number("rms_norm_eps", kEps);
  config.mla_norm_eps = text.number_or("mla_norm_eps", config.mla_norm_eps, kEps);
  config.max_position_embeddings = text.integer_or("max_position_embeddings", kReleasePositions, {1, 1 << 30});
  config.attn_res_block_size = text.integer("attn_res_block_size", {1, 1 << 20});
  must_say(text, "hidden_act", "situ");
  config.activation_situ_beta = text.number("activation_situ_beta", kCap);
  config.activation_situ_linear_beta = text.number("activation_situ_linear_beta", kCap);
  may_be(text, "num_nextn_predict_layers", 0);
}

void read_mla(const Fields& text, KimiK3Config& config) {
  config.num_attention_heads = text.integer("num_attention_heads", kHeads);
  config.q_lora_rank = text.integer("q_lora_rank", kWidth);
  config.kv_lora_rank = text.integer("kv_lora_rank", kWidth);
  config.qk_nope_head_dim = text.integer("qk_nope_head_dim", kHeadDim);
  config.qk_rope_head_dim = text.integer("qk_rope_head_dim", kHeadDim);
  config.v_head_dim = text.integer("v_head_dim", kHeadDim);
  must_be(text, "mla_use_nope", true);
  must_be(text, "mla_use_output_gate", true);
  const int value_heads = text.integer_or("num_key_value_heads", config.num_attention_heads, kHeads);
  if (text.good("num_key_value_heads") && text.good("num_attention_heads") && value_heads != config.num_attention_heads)
    text.wrong("num_key_value_heads",
               fmt::format("is {}, must equal num_attention_heads {}", value_heads, config.num_attention_heads));
}

// The layers that a list of one-based numbers names.
std::vector<bool> read_layer_list(const Fields& fields, const char* name, int layers) {
  std::vector<bool> named(static_cast<std::size_t>(layers), false);
  for (int layer : fields.integers_or(name, {}, {1, layers})) {
    auto mark = named[static_cast<std::size_t>(layer - 1)];
    if (mark && fields.good(name)) fields.wrong(name, fmt::format("holds layer {} twice", layer));
    mark = true;
  }
  return named;
}

// full_attn_layers and kda_layers together hold every layer once.
void read_layer_kinds(const Fields& kda, KimiK3Config& config) {
  const int layers = config.num_hidden_layers;
  config.is_mla = read_layer_list(kda, "full_attn_layers", layers);
  if (kda.good("full_attn_layers") && std::ranges::count(config.is_mla, true) == layers)
    kda.wrong("full_attn_layers", "leaves no layer for KDA");
  const std::vector<bool> is_kda = read_layer_list(kda, "kda_layers", layers);
  if (!kda.good("full_attn_layers") || !kda.good("kda_layers")) return;
  for (std::size_t layer = 0; layer < is_kda.size(); ++layer) {
    if (is_kda[layer] != config.is_mla[layer]) continue;
    kda.wrong("kda_layers",
              fmt::format("and full_attn_layers {} layer {}", is_kda[layer] ? "both hold" : "both lack", layer + 1));
    return;
  }
}

void read_kda(const Fields& text, KimiK3Config& config) {
  const Fields kda = text.object("linear_attn_config");
  config.kda_num_heads = kda.integer("num_heads", {1, 1024});
  config.kda_head_dim = kda.integer("head_dim", {1, 1024});  // one state matrix of all heads stays below 2^30 numbers
  config.short_conv_kernel_size = kda.integer("short_conv_kernel_size", {1, 64});
  config.gate_lower_bound = kda.number("gate_lower_bound", {-5, -1e-6});
  must_be(kda, "use_full_rank_gate", true);
  // A_log has head_dim entries of which the first num_heads are used (spec 2.2).
  if (kda.good("num_heads") && kda.good("head_dim") && config.kda_num_heads > config.kda_head_dim)
    kda.wrong("num_heads", fmt::format("is {}, more than head_dim {}: A_log has no room for them", config.kda_num_heads,
                                       config.kda_head_dim));
  kda.require("full_attn_layers");
  if (text.good("num_hidden_layers")) read_layer_kinds(kda, config);
}

void read_moe(const Fields& text, KimiK3Config& config) {
  config.first_k_dense_replace = text.integer("first_k_dense_replace", {0, kLayers.most});
  config.num_experts = text.integer("num_experts", kExperts);
  config.num_experts_per_token = text.integer("num_experts_per_token", kExperts);
  config.num_shared_experts = text.integer("num_shared_experts", {1, 256});
  config.moe_intermediate_size = text.integer("moe_intermediate_size", kInner);
  config.routed_expert_hidden_size = text.integer("routed_expert_hidden_size", kInner);
  config.routed_scaling_factor = text.number("routed_scaling_factor", {1e-6, 1e6});
  config.moe_renormalize = text.flag("moe_renormalize");
  config.latent_moe_use_norm = text.flag("latent_moe_use_norm");
  must_say(text, "moe_router_activation_func", "sigmoid");
  may_be(text, "moe_layer_freq", 1);
  may_be(text, "num_expert_group", 1);
  may_be(text, "topk_group", 1);
  may_say(text, "topk_method", "noaux_tc");
  text.flag_or("use_grouped_topk", true);  // with one group either value means the same

  const bool experts = text.good("num_experts"), layers = text.good("num_hidden_layers");
  if (experts && text.good("num_experts_per_token") && config.num_experts_per_token > config.num_experts)
    text.wrong("num_experts_per_token",
               fmt::format("is {}, more than num_experts {}", config.num_experts_per_token, config.num_experts));
  if (layers && text.good("first_k_dense_replace") && config.first_k_dense_replace > config.num_hidden_layers)
    text.wrong("first_k_dense_replace", fmt::format("is {}, more than num_hidden_layers {}",
                                                    config.first_k_dense_replace, config.num_hidden_layers));
  if (experts && layers && std::int64_t{config.num_experts} * config.num_hidden_layers > kMostExpertsInAll)
    text.wrong("num_experts",
               fmt::format("is {}, absurdly many for {} layers", config.num_experts, config.num_hidden_layers));
  for (const char* name : {"moe_intermediate_size", "routed_expert_hidden_size"})
    if (const int width = text.good(name) ? text.integer(name, kInner) : 0; width % kMxfp4Columns != 0)
      text.wrong(name, fmt::format("is {}, not a multiple of the {} columns that share a scale", width, kMxfp4Columns));
}

// What is stored how is read off the tensors; here only a scheme that cannot be decoded is refused.
void read_quantization(const Fields& text) {
  const Fields groups = text.optional_object("quantization_config").optional_object("config_groups");
  for (const std::string& name : groups.names()) {
    const Fields weights = groups.optional_object(name.c_str()).optional_object("weights");
    may_be(weights, "group_size", kMxfp4Columns);
    may_be(weights, "num_bits", 4);
  }
}

// In text_config or at the root. Requires: a good vocab_size.
void read_special_ids(const Fields& root, const Fields& text, KimiK3Config& config) {
  const IntRange ids{0, config.vocab_size - 1};
  const auto holder = [&](const char* name) -> const Fields& { return text.has(name) ? text : root; };
  config.bos_token_id = holder("bos_token_id").integer_or("bos_token_id", kReleaseBos, ids);
  const Fields& with_eos = holder("eos_token_id");
  const std::vector<int> ends = one_or_more_ids(with_eos, "eos_token_id", ids);
  std::set<int> stops(ends.begin(), ends.end());
  if (!with_eos.has("eos_token_id")) stops.insert(kReleaseEos);
  if (config.bos_token_id > ids.most || (!stops.empty() && *stops.rbegin() > ids.most)) {
    text.wrong("vocab_size", fmt::format("is {}, too small for the release's special tokens, and bos_token_id or "
                                         "eos_token_id is missing",
                                         config.vocab_size));
    return;
  }
  for (int offset : kStops)
    if (config.bos_token_id + offset <= ids.most) stops.insert(config.bos_token_id + offset);
  config.stop_ids.assign(stops.begin(), stops.end());
}

}  // namespace

Result<KimiK3Config> parse_config(std::string_view json, std::string_view where) {
  TRY_TAKE(const Fields root, Fields::parse(json, where));
  const Fields text = root.object("text_config");
  KimiK3Config config;
  if (!root.has("text_config")) return tl::unexpected<Error>(root.outcome().error());
  read_sizes(text, config);
  read_mla(text, config);
  read_kda(text, config);
  read_moe(text, config);
  read_quantization(text);
  for (const Fields* fields : {&root, &text})
    if (fields->flag_or("tie_word_embeddings", false))
      fields->wrong("tie_word_embeddings", "is true, only a separate lm_head can be run");
  if (text.good("vocab_size")) read_special_ids(root, text, config);
  TRY(root.outcome());
  return config;
}

}  // namespace sluice::kimi_k3
