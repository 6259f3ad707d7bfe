// See census.h. Names and shapes: spec section 2.2.
#include "models/deepseek_v4/census.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "base/check.h"
#include "models/common/blocks.h"
#include "models/deepseek_v4/other_names.h"

namespace sluice::deepseek_v4 {

namespace {

// Layers from num_hidden_layers on are MTP blocks. transformers leaves those out, so they have one name only.
class LayerNames {
 public:
  LayerNames(const V4Config& config, int layer)
      : trunk_(layer < config.num_hidden_layers),
        released_(trunk_ ? fmt::format("layers.{}.", layer) : fmt::format("mtp.{}.", layer - config.num_hidden_layers)),
        other_(fmt::format("model.layers.{}.", layer)) {}

  TensorSpec spec(std::string_view name, Shape shape) const {
    TensorSpec spec{released_ + std::string(name), shape};
    if (!trunk_) return spec;
    for (const std::string& other : other_names_in_layer(name)) spec.alternatives.push_back({other_ + other, shape});
    return spec;
  }
  BlockSpec block(std::string label, std::initializer_list<Numbered> tensors) const {
    BlockSpec made{std::move(label), {}};
    append(made, tensors);
    return made;
  }
  void append(BlockSpec& block, std::initializer_list<Numbered> tensors) const {
    for (const Numbered& tensor : tensors) {
      SLUICE_CHECK(tensor.place == static_cast<int>(block.tensors.size()));
      block.tensors.push_back(spec(tensor.name, tensor.shape));
    }
  }
  // Routed expert `number`; transformers keeps all of a layer in two tensors.
  BlockSpec expert(const V4Config& c, std::string label, int number) const {
    const int width = c.hidden_size, inner = c.moe_intermediate_size;
    BlockSpec made =
        gated_expert_block(std::move(label), other_ + "mlp.experts.", {c.n_routed_experts, width, inner}, number);
    constexpr std::string_view kNames[] = {"w1", "w3", "w2"};  // in the order of gated_expert
    for (std::size_t tensor = 0; tensor < made.tensors.size(); ++tensor) {
      made.tensors[tensor].name = fmt::format("{}ffn.experts.{}.{}.weight", released_, number, kNames[tensor]);
      if (!trunk_) made.tensors[tensor].alternatives.clear();
    }
    return made;
  }

 private:
  bool trunk_;
  std::string released_, other_;
};

BlockSpec attention_in_block(const V4Config& c, const LayerNames& names, const std::string& label) {
  const int hidden = c.hidden_size;
  return names.block(label + "attention in", {{attention_in::hc_fn, "hc_attn_fn", {c.mixes(), c.streams_width()}},
                                              {attention_in::hc_base, "hc_attn_base", {1, c.mixes()}},
                                              {attention_in::hc_scale, "hc_attn_scale", {1, 3}},
                                              {attention_in::norm, "attn_norm.weight", {1, hidden}},
                                              {attention_in::wq_a, "attn.wq_a.weight", {c.q_lora_rank, hidden}},
                                              {attention_in::q_norm, "attn.q_norm.weight", {1, c.q_lora_rank}},
                                              {attention_in::wq_b, "attn.wq_b.weight", {c.q_width(), c.q_lora_rank}},
                                              {attention_in::wkv, "attn.wkv.weight", {c.head_dim, hidden}},
                                              {attention_in::kv_norm, "attn.kv_norm.weight", {1, c.head_dim}},
                                              {attention_in::sink, "attn.attn_sink", {1, c.num_attention_heads}}});
}

BlockSpec compress_block(const V4Config& c, int layer, const LayerNames& names, const std::string& label) {
  const int hidden = c.hidden_size, ratio = c.ratio(layer);
  const int rows = c.compressor_rows(layer, c.head_dim), index_rows = c.compressor_rows(layer, c.index_head_dim);
  BlockSpec made =
      names.block(label + "compressor", {{compress::ape, "attn.compressor.ape", {ratio, rows}},
                                         {compress::norm, "attn.compressor.norm.weight", {1, c.head_dim}},
                                         {compress::wkv, "attn.compressor.wkv.weight", {rows, hidden}},
                                         {compress::wgate, "attn.compressor.wgate.weight", {rows, hidden}}});
  if (!c.has_indexer(layer)) return made;
  names.append(made,
               {{compress::index_wq_b, "attn.indexer.wq_b.weight", {c.index_n_heads * c.index_head_dim, c.q_lora_rank}},
                {compress::index_weights, "attn.indexer.weights_proj.weight", {c.index_n_heads, hidden}},
                {compress::index_ape, "attn.indexer.compressor.ape", {ratio, index_rows}},
                {compress::index_norm, "attn.indexer.compressor.norm.weight", {1, c.index_head_dim}},
                {compress::index_wkv, "attn.indexer.compressor.wkv.weight", {index_rows, hidden}},
                {compress::index_wgate, "attn.indexer.compressor.wgate.weight", {index_rows, hidden}}});
  return made;
}

BlockSpec router_block(const V4Config& c, int layer, const LayerNames& names, const std::string& label) {
  BlockSpec made =
      names.block(label + "router", {{router::hc_fn, "hc_ffn_fn", {c.mixes(), c.streams_width()}},
                                     {router::hc_base, "hc_ffn_base", {1, c.mixes()}},
                                     {router::hc_scale, "hc_ffn_scale", {1, 3}},
                                     {router::norm, "ffn_norm.weight", {1, c.hidden_size}},
                                     {router::gate, "ffn.gate.weight", {c.n_routed_experts, c.hidden_size}}});
  if (!c.hash_routed(layer)) names.append(made, {{router::bias, "ffn.gate.bias", {1, c.n_routed_experts}}});
  return made;
}

void add_layer(const V4Config& c, int layer, const LayerSteps& at, std::vector<BlockSpec>& walk) {
  const LayerNames names(c, layer);
  const std::string label = fmt::format("layer {} ", layer);
  const int hidden = c.hidden_size, inner = c.moe_intermediate_size;
  const auto add = [&walk](int step, BlockSpec made) {
    SLUICE_CHECK(step == static_cast<int>(walk.size()));
    walk.push_back(std::move(made));
  };
  add(at.attention, attention_in_block(c, names, label));
  if (c.compresses(layer)) add(at.compress, compress_block(c, layer, names, label));
  add(at.output,
      names.block(label + "groups out", {{group_out::wo_a, "attn.wo_a.weight", {c.o_width(), c.group_width()}}}));
  add(at.output + 1,
      names.block(label + "attention out", {{attention_out::wo_b, "attn.wo_b.weight", {hidden, c.o_width()}}}));
  add(at.router, router_block(c, layer, names, label));
  add(at.shared, names.block(label + "shared expert", {{shared::w1, "ffn.shared_experts.w1.weight", {inner, hidden}},
                                                       {shared::w3, "ffn.shared_experts.w3.weight", {inner, hidden}},
                                                       {shared::w2, "ffn.shared_experts.w2.weight", {hidden, inner}}}));
}

// What collapses the streams before the head's matrix: tensors that the trunk has at its end, and the MTP block again.
BlockSpec head_in_block(const V4Config& c, std::string label, const std::string& prefix) {
  return block(std::move(label), prefix,
               {{head_in::hc_fn, "hc_head_fn", {c.hc_mult, c.streams_width()}},
                {head_in::hc_base, "hc_head_base", {1, c.hc_mult}},
                {head_in::hc_scale, "hc_head_scale", {1, 1}},
                {head_in::norm, "norm.weight", {1, c.hidden_size}}});
}

TensorSpec global(std::string_view name, Shape shape) {
  return {std::string(name), shape, 0, 0, 1, {{other_global_name(name), shape}}};
}

void add_head(const V4Config& c, const WalkSteps& steps, std::vector<BlockSpec>& walk) {
  SLUICE_CHECK(steps.head_in == static_cast<int>(walk.size()));
  walk.push_back(head_in_block(c, "head in", ""));
  for (TensorSpec& tensor : walk.back().tensors) tensor = global(tensor.name, tensor.shape);
  walk.back().role = "head";
  add_head_slices(global("head.weight", {c.vocab_size, c.hidden_size}), walk);
}

// Spec section 2.2, "MTP". The draft head shares the embedding and the head's matrix.
void add_draft_head(const V4Config& c, const WalkSteps& steps, std::vector<BlockSpec>& walk) {
  const int layer = c.num_hidden_layers, hidden = c.hidden_size;
  const auto first = static_cast<std::ptrdiff_t>(walk.size());
  SLUICE_CHECK(steps.draft_in == static_cast<int>(walk.size()));
  walk.push_back(block("draft head in", "mtp.0.",
                       {{draft_in::enorm, "enorm.weight", {1, hidden}},
                        {draft_in::hnorm, "hnorm.weight", {1, hidden}},
                        {draft_in::e_proj, "e_proj.weight", {hidden, hidden}},
                        {draft_in::h_proj, "h_proj.weight", {hidden, hidden}}}));
  add_layer(c, layer, steps.draft, walk);
  SLUICE_CHECK(steps.draft_out == static_cast<int>(walk.size()));
  walk.push_back(head_in_block(c, "draft head out", "mtp.0."));
  std::for_each(walk.begin() + first, walk.end(), [](BlockSpec& spec) { spec.role = "draft head"; });
}

// Tensors that are left alone: whatever drafts if it is not wanted or not run (DSpark), else copies of the embedding
// and of the head's matrix, should they appear.
std::vector<std::string> ignored(ModelScope scope) {
  if (!scope.draft_head) return {"mtp."};
  return {"mtp.0.emb", "mtp.0.head."};
}

}  // namespace

WalkSteps walk_steps(const V4Config& config, ModelScope scope) {
  SLUICE_CHECK(scope.layers >= 1 && scope.layers <= config.num_hidden_layers);
  SLUICE_CHECK(!scope.draft_head || config.has_draft_head());
  WalkSteps steps;
  int next = 0;
  const auto place_layer = [&](int layer) {
    LayerSteps at;
    at.attention = next++;
    if (config.compresses(layer)) at.compress = next++;
    at.output = next;
    next += 2;
    at.router = next++;
    at.shared = next++;
    return at;
  };
  for (int layer = 0; layer < scope.layers; ++layer) steps.layers.push_back(place_layer(layer));
  steps.head_in = next++;
  steps.head_slices = next;
  steps.slice_rows = head_slice_rows({config.vocab_size, config.hidden_size});
  next += static_cast<int>(steps.slice_rows.size());
  if (!scope.draft_head) return steps;
  steps.draft_in = next++;
  steps.draft = place_layer(config.num_hidden_layers);
  steps.draft_out = next;
  return steps;
}

Census census(const V4Config& config, ModelScope scope) {
  const WalkSteps steps = walk_steps(config, scope);
  Census wanted;
  wanted.layers = scope.layers;
  wanted.experts = config.n_routed_experts;
  for (int layer = 0; layer < scope.layers; ++layer) {
    add_layer(config, layer, steps.layers[static_cast<std::size_t>(layer)], wanted.walk);
    if (config.hash_routed(layer))
      wanted.id_tables.push_back(
          {LayerNames(config, layer).spec("ffn.gate.tid2eid", {config.vocab_size, config.num_experts_per_tok}),
           config.n_routed_experts});
  }
  add_head(config, steps, wanted.walk);
  if (scope.draft_head) {
    SLUICE_CHECK(scope.layers == config.num_hidden_layers);  // the head is a layer by that number
    add_draft_head(config, steps, wanted.walk);
    ++wanted.layers;
  }
  wanted.has_experts.assign(static_cast<std::size_t>(wanted.layers), true);
  wanted.embedding = global("embed.weight", {config.vocab_size, config.hidden_size});
  wanted.expert = [config](int layer, int number) {
    return LayerNames(config, layer).expert(config, fmt::format("layer {} expert {}", layer, number), number);
  };
  wanted.ignored = ignored(scope);
  return wanted;
}

}  // namespace sluice::deepseek_v4
