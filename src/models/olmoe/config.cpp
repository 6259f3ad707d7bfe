// See config.h. Rules and values: spec section 1. A field that decides arithmetic is required, except where releases
// are known to leave it out; a switch to something that is not built here is refused, never ignored.
#include "models/olmoe/config.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "base/fields.h"
#include "models/common/blocks.h"
#include "models/common/config_rules.h"

namespace sluice::olmoe {

namespace {

constexpr NumberRange kTheta{1.001, 1e12};

// Some files leave these out, and then the released code means:
constexpr float kUsualEps = 1e-5f;
constexpr int kUsualPositions = 4096, kUsualEos = 50279;

void read_sizes(const Fields& root, OlmoeConfig& config) {
  config.vocab_size = root.integer("vocab_size", {1, 1 << 22});
  config.hidden_size = root.integer("hidden_size", kWidth);
  config.num_hidden_layers = root.integer("num_hidden_layers", kLayers);
  config.rms_norm_eps = root.number_or("rms_norm_eps", kUsualEps, kEps);
  config.max_position_embeddings = root.integer_or("max_position_embeddings", kUsualPositions, kPositions);
  must_say(root, "hidden_act", "silu");
  may_be(root, "tie_word_embeddings", false);
}

void read_attention(const Fields& root, OlmoeConfig& config) {
  config.num_attention_heads = root.integer("num_attention_heads", kHeads);
  config.num_key_value_heads = root.integer_or("num_key_value_heads", config.num_attention_heads, kHeads);
  if (root.has("clip_qkv")) config.clip_qkv = root.number("clip_qkv", {1e-6, 1e6});
  may_be(root, "attention_bias", false);

  const int heads = config.num_attention_heads;
  if (!root.good("num_attention_heads")) return;
  if (root.good("num_key_value_heads") && heads % config.num_key_value_heads != 0)
    root.wrong("num_key_value_heads",
               fmt::format("is {}, which does not divide num_attention_heads {}", config.num_key_value_heads, heads));
  if (!root.good("hidden_size")) return;
  if (config.hidden_size % (2 * heads) != 0)
    return root.wrong(
        "num_attention_heads",
        fmt::format("is {}: hidden_size {} does not fall into so many heads of even width", heads, config.hidden_size));
  if (const int dim = root.integer_or("head_dim", config.head_dim(), kWidth);
      root.good("head_dim") && dim != config.head_dim())
    root.wrong("head_dim",
               fmt::format("is {}, only hidden_size / num_attention_heads = {} can be run", dim, config.head_dim()));
}

// "default" or nothing: positions as they are. `kind` is "rope_type" or, in older files, "type".
void no_scaling(const Fields& rope) {
  for (const char* kind : {"rope_type", "type"}) may_say(rope, kind, "default");
  if (const float part = rope.number_or("partial_rotary_factor", 1, {0, 1});
      rope.good("partial_rotary_factor") && part != 1)
    rope.wrong("partial_rotary_factor", fmt::format("is {}, only 1 can be run", part));
}

// rope_theta beside rope_scaling or, in newer files, both in rope_parameters; one of them must say theta.
void read_rope(const Fields& root, OlmoeConfig& config) {
  const Fields parameters = root.optional_object("rope_parameters"), scaling = root.optional_object("rope_scaling");
  no_scaling(parameters);
  no_scaling(scaling);
  if (!parameters.has("rope_theta")) {
    config.rope_theta = static_cast<double>(root.number("rope_theta", kTheta));
    return;
  }
  const float theta = parameters.number("rope_theta", kTheta), outer = root.number_or("rope_theta", theta, kTheta);
  config.rope_theta = static_cast<double>(theta);
  if (root.good("rope_theta") && parameters.good("rope_theta") && outer != theta)
    root.wrong("rope_theta", fmt::format("is {}, and rope_parameters.rope_theta is {}", outer, theta));
}

void read_experts(const Fields& root, OlmoeConfig& config) {
  config.intermediate_size = root.integer("intermediate_size", kInner);
  config.num_experts = root.integer("num_experts", kExperts);
  config.num_experts_per_tok = root.integer("num_experts_per_tok", kExperts);
  config.norm_topk_prob = root.flag("norm_topk_prob");
  if (!root.good("num_experts")) return;
  const std::int64_t experts = config.num_experts;
  if (root.good("num_experts_per_tok") && config.num_experts_per_tok > config.num_experts)
    root.wrong("num_experts_per_tok",
               fmt::format("is {}, more than num_experts {}", config.num_experts_per_tok, experts));
  if (root.good("num_hidden_layers") && experts * config.num_hidden_layers > kMostExpertsInAll)
    root.wrong("num_experts", fmt::format("is {}, absurdly many for {} layers", experts, config.num_hidden_layers));
  if ((root.good("intermediate_size") && 2 * experts * config.intermediate_size > kMostFusedRows) ||
      (root.good("hidden_size") && experts * config.hidden_size > kMostFusedRows))
    root.wrong("num_experts", fmt::format("is {}, absurdly many for their width", experts));
}

// Requires: a good vocab_size.
void read_stop_ids(const Fields& root, OlmoeConfig& config) {
  config.stop_ids = one_or_more_ids(root, "eos_token_id", {0, config.vocab_size - 1});
  if (!root.has("eos_token_id") && config.vocab_size > kUsualEos) config.stop_ids = {kUsualEos};
}

}  // namespace

Result<OlmoeConfig> parse_config(std::string_view json, std::string_view where) {
  TRY_TAKE(const Fields root, Fields::parse(json, where));
  OlmoeConfig config;
  read_sizes(root, config);
  read_attention(root, config);
  read_rope(root, config);
  read_experts(root, config);
  if (root.good("vocab_size")) read_stop_ids(root, config);
  TRY(root.outcome());
  return config;
}

}  // namespace sluice::olmoe
