// See census.h. Names and shapes: spec section 2.2.
#include "models/kimi_k3/census.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "base/check.h"
#include "models/common/blocks.h"

namespace sluice::kimi_k3 {

namespace {

std::string layer_prefix(int layer) { return fmt::format("language_model.model.layers.{}.", layer); }

void add_kda(const KimiK3Config& c, int layer, std::vector<BlockSpec>& walk) {
  const std::string prefix = layer_prefix(layer), label = fmt::format("layer {} attention", layer);
  const int hidden = c.hidden_size, width = c.kda_width(), dim = c.kda_head_dim, taps = c.short_conv_kernel_size;
  const auto stream = [&](const std::string& name) {
    walk.push_back(block(label + " " + name, prefix,
                         {{kda_stream::proj, "self_attn." + name + "_proj.weight", {width, hidden}},
                          {kda_stream::conv, "self_attn." + name + "_conv1d.weight", {width, taps}}}));
  };
  stream("q");
  append(walk.back(), prefix,
         {{kda_stream::input_norm, "input_layernorm.weight", {1, hidden}},
          {kda_stream::res_norm, "self_attention_res_norm.weight", {1, hidden}},
          {kda_stream::res_proj, "self_attention_res_proj.weight", {1, hidden}}});
  stream("k");
  stream("v");
  walk.push_back(block(label + " gates", prefix,
                       {{kda_gates::f_a_proj, "self_attn.f_a_proj.weight", {dim, hidden}},
                        {kda_gates::f_b_proj, "self_attn.f_b_proj.weight", {width, dim}},
                        {kda_gates::a_log, "self_attn.A_log", {1, dim}},  // entries past num_heads are padding
                        {kda_gates::dt_bias, "self_attn.dt_bias", {1, width}},
                        {kda_gates::b_proj, "self_attn.b_proj.weight", {c.kda_num_heads, hidden}},
                        {kda_gates::g_proj, "self_attn.g_proj.weight", {width, hidden}},
                        {kda_gates::o_norm, "self_attn.o_norm.weight", {1, dim}}}));
  walk.push_back(block(label + " out", prefix, {{kda_out::o_proj, "self_attn.o_proj.weight", {hidden, width}}}));
}

void add_mla(const KimiK3Config& c, int layer, std::vector<BlockSpec>& walk) {
  const std::string prefix = layer_prefix(layer), label = fmt::format("layer {} attention", layer);
  const int hidden = c.hidden_size, heads = c.num_attention_heads, values = heads * c.v_head_dim;
  walk.push_back(block(label + " in", prefix,
                       {{mla_in::input_norm, "input_layernorm.weight", {1, hidden}},
                        {mla_in::res_norm, "self_attention_res_norm.weight", {1, hidden}},
                        {mla_in::res_proj, "self_attention_res_proj.weight", {1, hidden}},
                        {mla_in::q_a_proj, "self_attn.q_a_proj.weight", {c.q_lora_rank, hidden}},
                        {mla_in::q_a_norm, "self_attn.q_a_layernorm.weight", {1, c.q_lora_rank}},
                        {mla_in::q_b_proj, "self_attn.q_b_proj.weight", {heads * c.qk_head_dim(), c.q_lora_rank}},
                        {mla_in::kv_a_proj, "self_attn.kv_a_proj_with_mqa.weight", {c.latent_width(), hidden}},
                        {mla_in::kv_a_norm, "self_attn.kv_a_layernorm.weight", {1, c.kv_lora_rank}},
                        {mla_in::kv_b_proj,
                         "self_attn.kv_b_proj.weight",
                         {heads * (c.qk_nope_head_dim + c.v_head_dim), c.kv_lora_rank}}}));
  walk.push_back(block(label + " gate", prefix, {{mla_gate::g_proj, "self_attn.g_proj.weight", {values, hidden}}}));
  walk.push_back(block(label + " out", prefix, {{mla_out::o_proj, "self_attn.o_proj.weight", {hidden, values}}}));
}

void add_dense(const KimiK3Config& c, int layer, std::vector<BlockSpec>& walk) {
  const std::string prefix = layer_prefix(layer), label = fmt::format("layer {} mlp", layer);
  walk.push_back(block(label + " norms", prefix,
                       {{dense_norms::post_norm, "post_attention_layernorm.weight", {1, c.hidden_size}},
                        {dense_norms::res_norm, "mlp_res_norm.weight", {1, c.hidden_size}},
                        {dense_norms::res_proj, "mlp_res_proj.weight", {1, c.hidden_size}}}));
  const DenseSlices slices = dense_slices(c);
  const auto add = [&](const char* name, Shape shape, const std::vector<int>& rows) {
    int first = 0;
    for (const int count : rows) {
      TensorSpec slice{prefix + "mlp." + name + ".weight", shape};
      slice.first_row = first;
      slice.row_count = count;
      walk.push_back({fmt::format("{} {} rows {}..{}", label, name, first, first + count - 1), {std::move(slice)}});
      first += count;
    }
  };
  add("gate_proj", {c.intermediate_size, c.hidden_size}, slices.inner);
  add("up_proj", {c.intermediate_size, c.hidden_size}, slices.inner);
  add("down_proj", {c.hidden_size, c.intermediate_size}, slices.hidden);
}

void add_moe(const KimiK3Config& c, int layer, std::vector<BlockSpec>& walk) {
  const std::string prefix = layer_prefix(layer), label = fmt::format("layer {} ", layer);
  const int hidden = c.hidden_size, latent = c.routed_expert_hidden_size;
  const int inner = c.num_shared_experts * c.moe_intermediate_size;  // the shared experts are stored as one
  walk.push_back(
      block(label + "router", prefix,
            {{router::post_norm, "post_attention_layernorm.weight", {1, hidden}},
             {router::res_norm, "mlp_res_norm.weight", {1, hidden}},
             {router::res_proj, "mlp_res_proj.weight", {1, hidden}},
             {router::gate, "block_sparse_moe.gate.weight", {c.num_experts, hidden}},
             {router::bias, "block_sparse_moe.gate.e_score_correction_bias", {1, c.num_experts}},
             {router::latent_down_proj, "block_sparse_moe.routed_expert_down_proj.weight", {latent, hidden}}}));
  walk.push_back(block(label + "shared experts in", prefix,
                       {{shared_in::gate_proj, "block_sparse_moe.shared_experts.gate_proj.weight", {inner, hidden}},
                        {shared_in::up_proj, "block_sparse_moe.shared_experts.up_proj.weight", {inner, hidden}}}));
  walk.push_back(block(label + "shared experts out", prefix,
                       {{shared_out::down_proj, "block_sparse_moe.shared_experts.down_proj.weight", {hidden, inner}}}));
  walk.push_back(
      block(label + "latent out", prefix,
            {{latent_out::latent_norm, "block_sparse_moe.routed_expert_norm.weight", {1, latent}},
             {latent_out::latent_up_proj, "block_sparse_moe.routed_expert_up_proj.weight", {hidden, latent}}}));
}

void add_head(const KimiK3Config& c, std::vector<BlockSpec>& walk) {
  walk.push_back(block("head norm", "language_model.model.",
                       {{head_norm::norm, "norm.weight", {1, c.hidden_size}},
                        {head_norm::res_norm, "output_attn_res_norm.weight", {1, c.hidden_size}},
                        {head_norm::res_proj, "output_attn_res_proj.weight", {1, c.hidden_size}}}));
  walk.back().role = "head";
  add_head_slices({"language_model.lm_head.weight", {c.vocab_size, c.hidden_size}}, walk);
}

BlockSpec expert_block(const KimiK3Config& c, int layer, int number) {
  const int latent = c.routed_expert_hidden_size, inner = c.moe_intermediate_size;
  BlockSpec spec = block(fmt::format("layer {} expert {}", layer, number),
                         fmt::format("language_model.model.layers.{}.block_sparse_moe.experts.{}.", layer, number),
                         {{expert::w1, "w1.weight", {inner, latent}},
                          {expert::w3, "w3.weight", {inner, latent}},
                          {expert::w2, "w2.weight", {latent, inner}}});
  spec.role = "experts";
  return spec;
}

}  // namespace

namespace {

// Slices of about 128 MiB (in bf16), of whole blocks of 128 rows, whose scales some formats share.
std::vector<int> slices_of(Shape matrix) {
  constexpr int kSliceBytes = 128 << 20, kBlockRows = 128;
  const int rows = std::max(kSliceBytes / (2 * matrix.cols) / kBlockRows, 1) * kBlockRows;
  std::vector<int> slices;
  for (int first = 0; first < matrix.rows; first += rows) slices.push_back(std::min(rows, matrix.rows - first));
  return slices;
}

}  // namespace

DenseSlices dense_slices(const KimiK3Config& config) {
  return {slices_of({config.intermediate_size, config.hidden_size}),
          slices_of({config.hidden_size, config.intermediate_size})};
}

WalkSteps walk_steps(const KimiK3Config& config, int layers) {
  SLUICE_CHECK(layers >= 1 && layers <= config.num_hidden_layers);
  WalkSteps steps;
  const DenseSlices slices = dense_slices(config);
  const int dense_steps = 1 + 2 * static_cast<int>(slices.inner.size()) + static_cast<int>(slices.hidden.size());
  int next = 0;
  for (int layer = 0; layer < layers; ++layer) {
    const int attention = next, ffn = attention + (config.is_mla[static_cast<std::size_t>(layer)] ? 3 : 5);
    steps.layers.push_back({attention, ffn});
    next = ffn + (config.is_dense(layer) ? dense_steps : 4);
  }
  steps.head_norm = next;
  steps.head_slices = next + 1;
  steps.slice_rows = head_slice_rows({config.vocab_size, config.hidden_size});
  return steps;
}

Census census(const KimiK3Config& config, int layers) {
  const WalkSteps steps = walk_steps(config, layers);
  Census wanted;
  for (int layer = 0; layer < layers; ++layer) {
    const LayerSteps& at = steps.layers[static_cast<std::size_t>(layer)];
    SLUICE_CHECK(at.attention == static_cast<int>(wanted.walk.size()));
    config.is_mla[static_cast<std::size_t>(layer)] ? add_mla(config, layer, wanted.walk)
                                                   : add_kda(config, layer, wanted.walk);
    SLUICE_CHECK(at.ffn == static_cast<int>(wanted.walk.size()));
    config.is_dense(layer) ? add_dense(config, layer, wanted.walk) : add_moe(config, layer, wanted.walk);
    wanted.has_experts.push_back(!config.is_dense(layer));
  }
  SLUICE_CHECK(steps.head_norm == static_cast<int>(wanted.walk.size()));
  add_head(config, wanted.walk);
  wanted.embedding = {"language_model.model.embed_tokens.weight", {config.vocab_size, config.hidden_size}};
  wanted.layers = layers;
  wanted.experts = config.num_experts;
  wanted.expert = [config](int layer, int number) { return expert_block(config, layer, number); };
  wanted.ignored = {"vision_tower.", "mm_projector."};
  return wanted;
}

}  // namespace sluice::kimi_k3
