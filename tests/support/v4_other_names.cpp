// See v4_other_names.h.
#include "support/v4_other_names.h"

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "support/plain_safetensors.h"
#include "support/shard_by_hand.h"
#include "support/v4_vector.h"

namespace sluice::test {
namespace {

// In the order in which they are replaced, each wherever it stands.
constexpr std::pair<const char*, const char*> kReplaced[] = {
    {"layers.", "model.layers."},
    {".attn_norm.", ".input_layernorm."},
    {".ffn_norm.", ".post_attention_layernorm."},
    {".hc_attn_", ".attn_hc."},
    {".hc_ffn_", ".ffn_hc."},
    {".compressor.norm.", ".compressor.kv_norm."},
    {".compressor.ape", ".compressor.position_bias"},
    {".compressor.wkv.", ".compressor.kv_proj."},
    {".compressor.wgate.", ".compressor.gate_proj."},
    {".attn.indexer.compressor.", ".self_attn.compressor.indexer."},
    {".attn.indexer.wq_b.", ".self_attn.compressor.indexer.q_b_proj."},
    {".attn.indexer.weights_proj.", ".self_attn.compressor.indexer.scorer.weights_proj."},
    {".attn.attn_sink", ".self_attn.sinks"},
    {".attn.wq_a.", ".self_attn.q_a_proj."},
    {".attn.q_norm.", ".self_attn.q_a_norm."},
    {".attn.wq_b.", ".self_attn.q_b_proj."},
    {".attn.wkv.", ".self_attn.kv_proj."},
    {".attn.wo_a.", ".self_attn.o_a_proj."},
    {".attn.wo_b.", ".self_attn.o_b_proj."},
    {".attn.", ".self_attn."},
    {".ffn.gate.bias", ".mlp.gate.e_score_correction_bias"},
    {".ffn.shared_experts.w1.", ".mlp.shared_experts.gate_proj."},
    {".ffn.shared_experts.w3.", ".mlp.shared_experts.up_proj."},
    {".ffn.shared_experts.w2.", ".mlp.shared_experts.down_proj."},
    {".ffn.", ".mlp."},
};
const std::map<std::string, std::string> kGlobals = {{"embed.weight", "model.embed_tokens.weight"},
                                                     {"norm.weight", "model.norm.weight"},
                                                     {"head.weight", "lm_head.weight"},
                                                     {"hc_head_fn", "model.hc_head.hc_fn"},
                                                     {"hc_head_base", "model.hc_head.hc_base"},
                                                     {"hc_head_scale", "model.hc_head.hc_scale"}};

std::string other_name(std::string name) {
  if (const auto global = kGlobals.find(name); global != kGlobals.end()) return global->second;
  for (const auto& [before, after] : kReplaced)
    if (const std::size_t at = name.find(before); at != std::string::npos)
      name.replace(at, std::string(before).size(), after);
  return name;
}

std::string bytes_of(const PlainTensor& tensor) {
  const std::vector<std::byte> bytes = read_plain_bytes(tensor);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void write_v4_by_other_names(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::filesystem::create_directories(to);
  nlohmann::json config = v4_vector_config();
  config["num_nextn_predict_layers"] = 0;
  config["compress_ratios"].erase(config["compress_ratios"].size() - 1);
  std::ofstream(to / "config.json") << config;
  const std::map<std::string, PlainTensor> given = read_plain_checkpoint(from);
  std::vector<HandTensor> tensors;
  for (const auto& [name, tensor] : given)
    if (!name.starts_with("mtp.") && name.find(".experts.") == std::string::npos)
      tensors.push_back({other_name(name), tensor.dtype, tensor.shape, bytes_of(tensor)});
  for (std::size_t layer = 0; layer < config["compress_ratios"].size(); ++layer) {
    const std::string number = std::to_string(layer), fused = "model.layers." + number + ".mlp.experts.";
    HandTensor both{fused + "gate_up_proj", "F32", {kV4Experts, 2 * kV4Inner, kV4Hidden}, {}};
    HandTensor down{fused + "down_proj", "F32", {kV4Experts, kV4Hidden, kV4Inner}, {}};
    for (std::uint64_t expert = 0; expert < kV4Experts; ++expert) {
      const std::string prefix = "layers." + number + ".ffn.experts." + std::to_string(expert) + ".";
      both.data += bytes_of(given.at(prefix + "w1.weight")) + bytes_of(given.at(prefix + "w3.weight"));
      down.data += bytes_of(given.at(prefix + "w2.weight"));
    }
    tensors.push_back(std::move(both));
    tensors.push_back(std::move(down));
  }
  write_hand_shard(to / "model.safetensors", tensors);
}

}  // namespace sluice::test
