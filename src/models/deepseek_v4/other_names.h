// The names that transformers gives the tensors of DeepSeek-V4 (spec section 2.5): model.layers.3.self_attn.q_a_proj
// for layers.3.attn.wq_a.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::deepseek_v4 {

// Everything that a tensor of a layer may be called instead, without the layer's prefix: "attn.wq_a.weight" ->
// "self_attn.q_a_proj.weight". One at least for every tensor of section 2.2 but the routed experts, which
// transformers fuses.
std::vector<std::string> other_names_in_layer(std::string_view name);
// The same for tensors outside the layers: "embed.weight" -> "model.embed_tokens.weight".
std::string other_global_name(std::string_view name);

}  // namespace sluice::deepseek_v4
