// See census.h. Names and shapes: spec section 2.2.
#include "models/glm_dsa/census.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "models/common/blocks.h"

namespace sluice::glm_dsa {

namespace {

std::string layer_prefix(int layer) { return fmt::format("model.layers.{}.", layer); }

void add_indexer(const GlmConfig& c, const std::string& prefix, BlockSpec& spec) {
  const int dim = c.index_head_dim;
  append(spec, prefix,
         {{attention_in::index_q, "self_attn.indexer.wq_b.weight", {c.index_n_heads * dim, c.q_lora_rank}},
          {attention_in::index_k, "self_attn.indexer.wk.weight", {dim, c.hidden_size}},
          {attention_in::index_k_norm, "self_attn.indexer.k_norm.weight", {1, dim}},
          {attention_in::index_k_bias, "self_attn.indexer.k_norm.bias", {1, dim}},
          {attention_in::index_weights, "self_attn.indexer.weights_proj.weight", {c.index_n_heads, c.hidden_size}}});
}

void add_attention(const GlmConfig& c, int layer, std::vector<BlockSpec>& walk) {
  const std::string prefix = layer_prefix(layer), label = fmt::format("layer {} attention", layer);
  const int hidden = c.hidden_size, heads = c.num_attention_heads, values = heads * c.v_head_dim;
  walk.push_back(block(label + " in", prefix,
                       {{attention_in::input_norm, "input_layernorm.weight", {1, hidden}},
                        {attention_in::q_a_proj, "self_attn.q_a_proj.weight", {c.q_lora_rank, hidden}},
                        {attention_in::q_a_norm, "self_attn.q_a_layernorm.weight", {1, c.q_lora_rank}},
                        {attention_in::q_b_proj, "self_attn.q_b_proj.weight", {heads * c.qk_head_dim(), c.q_lora_rank}},
                        {attention_in::kv_a_proj, "self_attn.kv_a_proj_with_mqa.weight", {c.latent_width(), hidden}},
                        {attention_in::kv_a_norm, "self_attn.kv_a_layernorm.weight", {1, c.kv_lora_rank}},
                        {attention_in::kv_b_proj,
                         "self_attn.kv_b_proj.weight",
                         {heads * (c.qk_nope_head_dim + c.v_head_dim), c.kv_lora_rank}}}));
  if (c.owns_indexer(layer)) add_indexer(c, prefix, walk.back());
  walk.push_back(block(label + " out", prefix, {{attention_out::o_proj, "self_attn.o_proj.weight", {hidden, values}}}));
}

void add_dense(const GlmConfig& c, int layer, std::vector<BlockSpec>& walk) {
  const std::string prefix = layer_prefix(layer), label = fmt::format("layer {} mlp", layer);
  walk.push_back(block(label + " in", prefix,
                       {{dense_in::post_norm, "post_attention_layernorm.weight", {1, c.hidden_size}},
                        {dense_in::gate_proj, "mlp.gate_proj.weight", {c.intermediate_size, c.hidden_size}},
                        {dense_in::up_proj, "mlp.up_proj.weight", {c.intermediate_size, c.hidden_size}}}));
  walk.push_back(block(label + " out", prefix,
                       {{dense_out::down_proj, "mlp.down_proj.weight", {c.hidden_size, c.intermediate_size}}}));
}

void add_moe(const GlmConfig& c, int layer, std::vector<BlockSpec>& walk) {
  const std::string prefix = layer_prefix(layer), label = fmt::format("layer {} ", layer);
  const int hidden = c.hidden_size, inner = c.shared_inner();  // the shared experts are stored as one
  walk.push_back(block(label + "router", prefix,
                       {{router::post_norm, "post_attention_layernorm.weight", {1, hidden}},
                        {router::gate, "mlp.gate.weight", {c.n_routed_experts, hidden}},
                        {router::bias, "mlp.gate.e_score_correction_bias", {1, c.n_routed_experts}}}));
  walk.push_back(block(label + "shared experts", prefix,
                       {{shared::gate_proj, "mlp.shared_experts.gate_proj.weight", {inner, hidden}},
                        {shared::up_proj, "mlp.shared_experts.up_proj.weight", {inner, hidden}},
                        {shared::down_proj, "mlp.shared_experts.down_proj.weight", {hidden, inner}}}));
}

void add_layer(const GlmConfig& config, int layer, const LayerSteps& at, std::vector<BlockSpec>& walk) {
  SLUICE_CHECK(at.attention == static_cast<int>(walk.size()));
  add_attention(config, layer, walk);
  SLUICE_CHECK(at.ffn == static_cast<int>(walk.size()));
  config.dense(layer) ? add_dense(config, layer, walk) : add_moe(config, layer, walk);
}

void add_head(const GlmConfig& c, const WalkSteps& steps, std::vector<BlockSpec>& walk) {
  SLUICE_CHECK(steps.head_norm == static_cast<int>(walk.size()));
  walk.push_back(block("head norm", "model.", {{head_norm::norm, "norm.weight", {1, c.hidden_size}}}));
  walk.back().role = "head";
  add_head_slices({"lm_head.weight", {c.vocab_size, c.hidden_size}}, walk);
}

// Spec section 2.2, "L=78 only". The draft head shares the embedding and lm_head.
void add_draft_head(const GlmConfig& c, const WalkSteps& steps, std::vector<BlockSpec>& walk) {
  const int layer = c.num_hidden_layers, hidden = c.hidden_size;
  const auto first = static_cast<std::ptrdiff_t>(walk.size());
  SLUICE_CHECK(steps.draft_in == static_cast<int>(walk.size()));
  walk.push_back(block("draft head in", layer_prefix(layer),
                       {{draft_in::embedding_norm, "enorm.weight", {1, hidden}},
                        {draft_in::hidden_norm, "hnorm.weight", {1, hidden}},
                        {draft_in::eh_proj, "eh_proj.weight", {hidden, 2 * hidden}}}));
  add_layer(c, layer, steps.draft, walk);
  SLUICE_CHECK(steps.draft_out == static_cast<int>(walk.size()));
  walk.push_back(
      block("draft head out", layer_prefix(layer), {{draft_out::norm, "shared_head.norm.weight", {1, hidden}}}));
  std::for_each(walk.begin() + first, walk.end(), [](BlockSpec& spec) { spec.role = "draft head"; });
}

BlockSpec expert_block(const GlmConfig& c, int layer, int number) {
  return gated_expert_block(fmt::format("layer {} expert {}", layer, number), layer_prefix(layer) + "mlp.experts.",
                            {c.n_routed_experts, c.hidden_size, c.moe_intermediate_size}, number);
}

// Tensors that are left alone: a draft head that is not wanted, copies of the embedding and head in one that is
// (DeepSeek-V3), and tables of rotary frequencies that some exports carry.
std::vector<std::string> ignored(const GlmConfig& c, ModelScope scope) {
  std::vector<std::string> prefixes;
  if (c.has_draft_head() && !scope.draft_head) prefixes.push_back(layer_prefix(c.num_hidden_layers));
  for (const char* copy : {"embed_tokens.", "shared_head.head."})
    if (scope.draft_head) prefixes.push_back(layer_prefix(c.num_hidden_layers) + copy);
  for (int layer = 0; layer < c.num_hidden_layers + c.num_nextn_predict_layers; ++layer)
    prefixes.push_back(layer_prefix(layer) + "self_attn.rotary_emb.inv_freq");
  return prefixes;
}

}  // namespace

WalkSteps walk_steps(const GlmConfig& config, ModelScope scope) {
  SLUICE_CHECK(scope.layers >= 1 && scope.layers <= config.num_hidden_layers);
  SLUICE_CHECK(!scope.draft_head || config.has_draft_head());
  WalkSteps steps;
  int next = 0;
  const auto place_layer = [&] {
    const LayerSteps at{next, next + 2};
    next += 4;
    return at;
  };
  for (int layer = 0; layer < scope.layers; ++layer) steps.layers.push_back(place_layer());
  steps.head_norm = next++;
  steps.head_slices = next;
  steps.slice_rows = head_slice_rows({config.vocab_size, config.hidden_size});
  next += static_cast<int>(steps.slice_rows.size());
  if (!scope.draft_head) return steps;
  steps.draft_in = next++;
  steps.draft = place_layer();
  steps.draft_out = next;
  return steps;
}

Census census(const GlmConfig& config, ModelScope scope) {
  const WalkSteps steps = walk_steps(config, scope);
  Census wanted;
  wanted.layers = scope.layers;
  for (int layer = 0; layer < scope.layers; ++layer) {
    add_layer(config, layer, steps.layers[static_cast<std::size_t>(layer)], wanted.walk);
    wanted.has_experts.push_back(!config.dense(layer));
  }
  add_head(config, steps, wanted.walk);
  if (scope.draft_head) {
    SLUICE_CHECK(scope.layers == config.num_hidden_layers);  // the head is a layer by that number
    add_draft_head(config, steps, wanted.walk);
    wanted.has_experts.push_back(true);
    ++wanted.layers;
  }
  wanted.embedding = {"model.embed_tokens.weight", {config.vocab_size, config.hidden_size}};
  wanted.experts = config.n_routed_experts;
  wanted.expert = [config](int layer, int number) { return expert_block(config, layer, number); };
  wanted.ignored = ignored(config, scope);
  return wanted;
}

}  // namespace sluice::glm_dsa
