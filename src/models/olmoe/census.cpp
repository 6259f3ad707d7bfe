// See census.h. Names and shapes: spec section 2.
#include "models/olmoe/census.h"

#include <fmt/format.h>

#include <string>

#include "base/check.h"
#include "models/common/blocks.h"

namespace sluice::olmoe {

namespace {

std::string layer_prefix(int layer) { return fmt::format("model.layers.{}.", layer); }

BlockSpec layer_block(const OlmoeConfig& c, int layer) {
  const int hidden = c.hidden_size, kv = c.kv_width();
  return block(fmt::format("layer {} attention and router", layer), layer_prefix(layer),
               {{layer_step::input_norm, "input_layernorm.weight", {1, hidden}},
                {layer_step::q_proj, "self_attn.q_proj.weight", {hidden, hidden}},
                {layer_step::k_proj, "self_attn.k_proj.weight", {kv, hidden}},
                {layer_step::v_proj, "self_attn.v_proj.weight", {kv, hidden}},
                {layer_step::q_norm, "self_attn.q_norm.weight", {1, hidden}},
                {layer_step::k_norm, "self_attn.k_norm.weight", {1, kv}},
                {layer_step::o_proj, "self_attn.o_proj.weight", {hidden, hidden}},
                {layer_step::post_norm, "post_attention_layernorm.weight", {1, hidden}},
                {layer_step::router, "mlp.gate.weight", {c.num_experts, hidden}}});
}

BlockSpec expert_block(const OlmoeConfig& c, int layer, int number) {
  return gated_expert_block(fmt::format("layer {} expert {}", layer, number), layer_prefix(layer) + "mlp.experts.",
                            {c.num_experts, c.hidden_size, c.intermediate_size}, number);
}

}  // namespace

Census census(const OlmoeConfig& config, int layers) {
  SLUICE_CHECK(layers >= 1 && layers <= config.num_hidden_layers);
  const Shape vocabulary{config.vocab_size, config.hidden_size};
  Census wanted;
  for (int layer = 0; layer < layers; ++layer) wanted.walk.push_back(layer_block(config, layer));
  wanted.walk.push_back(block("head norm", "model.", {{norm_step::norm, "norm.weight", {1, config.hidden_size}}}));
  wanted.walk.back().role = "head";
  add_head_slices({"lm_head.weight", vocabulary}, wanted.walk);
  wanted.embedding = {"model.embed_tokens.weight", vocabulary};
  wanted.layers = layers;
  wanted.experts = config.num_experts;
  wanted.has_experts.assign(static_cast<std::size_t>(layers), true);
  wanted.expert = [config](int layer, int number) { return expert_block(config, layer, number); };
  return wanted;
}

}  // namespace sluice::olmoe
