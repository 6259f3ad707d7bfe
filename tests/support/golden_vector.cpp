// See golden_vector.h.
#include "support/golden_vector.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/numbers.h"
#include "support/must.h"

namespace sluice::test {
namespace {

constexpr int kKimiLayers = 13, kKimiExperts = 12;
constexpr std::uint64_t kKimiHidden = 160, kKimiVocab = 112, kKimiDense = 224;
constexpr std::uint64_t kKimiHeads = 5, kKimiHeadDim = 16, kKimiInner = kKimiHeads * kKimiHeadDim;  // KDA
constexpr std::uint64_t kKimiMlaHeads = 4, kKimiQRank = 56, kKimiKvRank = 40, kKimiNope = 24, kKimiRope = 8,
                        kKimiV = 16;
constexpr std::uint64_t kKimiLatent = 96, kKimiExpertInner = 64, kKimiShared = 2 * kKimiExpertInner;

const std::string kKimiModel = "language_model.model.";

bool is_mla(int layer) { return layer == 3 || layer == 7 || layer == 11 || layer == 12; }

// Collects the tensors of one layer: names are completed with the prefix.
class KimiTensors {
 public:
  KimiTensors(std::vector<GoldenTensor>& all, std::string prefix) : all_(all), prefix_(std::move(prefix)) {}

  void matrix(const std::string& name, int exponent, std::uint64_t rows, std::uint64_t cols) {
    add(name + ".weight", Dtype::bf16, {rows, cols}, GoldenRule::matrix, exponent);
  }
  void gain(const std::string& name, std::uint64_t width) {
    add(name + ".weight", Dtype::bf16, {width}, GoldenRule::gain, 0);
  }
  void packed(const std::string& name, int scale, std::uint64_t rows, std::uint64_t cols) {
    add(name + ".weight_packed", Dtype::u8, {rows, cols / 2}, GoldenRule::packed, 0);
    add(name + ".weight_scale", Dtype::u8, {rows, cols / 32}, GoldenRule::scales, scale);
  }
  void add(const std::string& name, Dtype type, std::vector<std::uint64_t> shape, GoldenRule rule, int parameter) {
    all_.push_back({{prefix_ + name, type, std::move(shape)}, rule, parameter});
  }

 private:
  std::vector<GoldenTensor>& all_;
  std::string prefix_;
};

void add_kda(KimiTensors& out) {
  for (const char* stream : {"q", "k", "v"}) {
    out.matrix(std::string(stream) + "_proj", -3, kKimiInner, kKimiHidden);
    out.add(std::string(stream) + "_conv1d.weight", Dtype::f32, {kKimiInner, 1, 4}, GoldenRule::signed_f32, 0);
  }
  out.matrix("f_a_proj", -3, kKimiHeadDim, kKimiHidden);
  out.matrix("f_b_proj", -1, kKimiInner, kKimiHeadDim);
  out.matrix("b_proj", -2, kKimiHeads, kKimiHidden);
  out.matrix("g_proj", -2, kKimiInner, kKimiHidden);
  out.matrix("o_proj", 0, kKimiHidden, kKimiInner);
  out.add("A_log", Dtype::f32, {kKimiHeadDim}, GoldenRule::decay, 0);
  out.add("dt_bias", Dtype::f32, {kKimiInner}, GoldenRule::time_bias, 0);
  out.add("o_norm.weight", Dtype::f32, {kKimiHeadDim}, GoldenRule::gain_f32, 0);
}

void add_mla(KimiTensors& out) {
  out.matrix("q_a_proj", -7, kKimiQRank, kKimiHidden);
  out.gain("q_a_layernorm", kKimiQRank);
  out.matrix("q_b_proj", -2, kKimiMlaHeads * (kKimiNope + kKimiRope), kKimiQRank);
  out.add("kv_a_proj_with_mqa.weight", Dtype::bf16, {kKimiKvRank + kKimiRope, kKimiHidden}, GoldenRule::latent_matrix,
          0);
  out.gain("kv_a_layernorm", kKimiKvRank);
  out.matrix("kv_b_proj", -2, kKimiMlaHeads * (kKimiNope + kKimiV), kKimiKvRank);
  out.matrix("g_proj", -2, kKimiMlaHeads * kKimiV, kKimiHidden);
  out.matrix("o_proj", 0, kKimiHidden, kKimiMlaHeads * kKimiV);
}

void add_moe(KimiTensors& out) {
  out.matrix("gate", -3, kKimiExperts, kKimiHidden);
  out.add("gate.e_score_correction_bias", Dtype::f32, {kKimiExperts}, GoldenRule::signed_f32, -2);
  out.matrix("routed_expert_down_proj", -3, kKimiLatent, kKimiHidden);
  out.gain("routed_expert_norm", kKimiLatent);
  out.matrix("routed_expert_up_proj", -2, kKimiHidden, kKimiLatent);
  out.matrix("shared_experts.gate_proj", -1, kKimiShared, kKimiHidden);
  out.matrix("shared_experts.up_proj", 1, kKimiShared, kKimiHidden);
  out.matrix("shared_experts.down_proj", -7, kKimiHidden, kKimiShared);
  for (int expert = 0; expert < kKimiExperts; ++expert) {
    const std::string name = "experts." + std::to_string(expert) + ".";
    out.packed(name + "w1", 124, kKimiExpertInner, kKimiLatent);
    out.packed(name + "w2", 121, kKimiLatent, kKimiExpertInner);
    out.packed(name + "w3", 126, kKimiExpertInner, kKimiLatent);
  }
}

void add_kimi_layer(std::vector<GoldenTensor>& all, int layer) {
  const std::string prefix = kKimiModel + "layers." + std::to_string(layer) + ".";
  KimiTensors block(all, prefix);
  block.gain("input_layernorm", kKimiHidden);
  block.gain("post_attention_layernorm", kKimiHidden);
  for (const std::string part : {"self_attention", "mlp"}) {
    block.gain(part + "_res_norm", kKimiHidden);
    block.matrix(part + "_res_proj", -3, 1, kKimiHidden);
  }
  KimiTensors attention(all, prefix + "self_attn.");
  is_mla(layer) ? add_mla(attention) : add_kda(attention);
  if (layer > 0) {
    KimiTensors moe(all, prefix + "block_sparse_moe.");
    return add_moe(moe);
  }
  KimiTensors dense(all, prefix + "mlp.");
  dense.matrix("gate_proj", -1, kKimiDense, kKimiHidden);
  dense.matrix("up_proj", 1, kKimiDense, kKimiHidden);
  dense.matrix("down_proj", -7, kKimiHidden, kKimiDense);
}

void add_globals(std::vector<GoldenTensor>& all) {
  KimiTensors model(all, kKimiModel);
  model.matrix("embed_tokens", 1, kKimiVocab, kKimiHidden);
  model.gain("norm", kKimiHidden);
  model.gain("output_attn_res_norm", kKimiHidden);
  model.matrix("output_attn_res_proj", -3, 1, kKimiHidden);
  KimiTensors(all, "language_model.").matrix("lm_head", -1, kKimiVocab, kKimiHidden);
}

double value_of(GoldenRule rule, int parameter, std::uint64_t z, std::uint64_t index) {
  const double b = static_cast<double>(z >> 56), n = static_cast<double>(z >> 40);
  switch (rule) {
    case GoldenRule::matrix:
      return std::ldexp(2 * b - 255, parameter - 8);
    case GoldenRule::latent_matrix:
      return std::ldexp(2 * b - 255, (index / kKimiHidden < kKimiKvRank ? -8 : -2) - 8);
    case GoldenRule::gain:
      return (64 + static_cast<double>(z >> 57)) / 128;
    case GoldenRule::gain_f32:
      return 0.5 + std::ldexp(static_cast<double>(z >> 41), -23);
    case GoldenRule::signed_f32:
      return std::ldexp(n - 8388608, parameter - 23);
    case GoldenRule::time_bias:
      return -std::ldexp(n, -22);
    case GoldenRule::decay:
      return index < kKimiHeads ? static_cast<double>(index) / 4 - 0.5 : 0.0;
    case GoldenRule::packed:
    case GoldenRule::scales:
      break;
  }
  throw std::logic_error("these rules store bytes");
}

std::uint8_t byte_of(GoldenRule rule, int base, std::uint64_t z) {
  if (rule == GoldenRule::packed) return static_cast<std::uint8_t>(z >> 56);
  const int t = static_cast<int>(z >> 60);
  switch (t) {
    case 0:
    case 1:
      return static_cast<std::uint8_t>(t);
    case 2:
      return static_cast<std::uint8_t>(base - 24);
    case 3:
      return static_cast<std::uint8_t>(base - 6);
    case 15:
      return static_cast<std::uint8_t>(base + 3);
    default:
      return static_cast<std::uint8_t>(base - 1 + t % 3);
  }
}

// Stores a value that its type holds exactly; anything else is a fault of the rule's code.
void store(Dtype type, double value, std::byte* to) {
  const auto narrow = static_cast<float>(value);
  if (static_cast<double>(narrow) != value) throw std::logic_error("not exact in fp32");
  if (type == Dtype::f32) {
    std::memcpy(to, &narrow, sizeof narrow);
    return;
  }
  const std::uint16_t word = f32_to_bf16(narrow);
  if (bf16_to_f32(word) != narrow) throw std::logic_error("not exact in bf16");
  std::memcpy(to, &word, sizeof word);
}

}  // namespace

std::uint64_t fnv1a64(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3u;
  return hash;
}

std::uint64_t golden_word(std::uint64_t name_hash, std::uint64_t index) {
  std::uint64_t z = name_hash + index + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

std::vector<std::byte> GoldenTensor::bytes() const {
  const std::uint64_t hash = fnv1a64(std::as_bytes(std::span(stored.name)));
  const std::uint64_t size = dtype_bits(stored.type) / 8;
  std::vector<std::byte> out(stored.bytes());
  for (std::uint64_t index = 0; index < out.size() / size; ++index) {
    const std::uint64_t z = golden_word(hash, index);
    if (stored.type == Dtype::u8)
      out[index] = static_cast<std::byte>(byte_of(rule, parameter, z));
    else
      store(stored.type, value_of(rule, parameter, z, index), out.data() + index * size);
  }
  return out;
}

const nlohmann::json& golden_vector() {
  static const nlohmann::json vector = [] {
    std::ifstream in(SLUICE_SOURCE_DIR "/tests/golden/kimi_k3/spec_vector.json");
    return nlohmann::json::parse(in);
  }();
  return vector;
}

std::vector<GoldenTensor> golden_tensors() {
  std::vector<GoldenTensor> all;
  for (int layer = 0; layer < kKimiLayers; ++layer) add_kimi_layer(all, layer);
  add_globals(all);
  return all;
}

void write_golden_vector(const std::filesystem::path& directory) {
  std::filesystem::create_directories(directory);
  std::map<std::string, GoldenTensor> by_name;
  std::vector<SafetensorsLayout> shards;
  for (int shard = 0; shard <= kKimiLayers; ++shard) {
    std::vector<GoldenTensor> wanted;
    shard < kKimiLayers ? add_kimi_layer(wanted, shard) : add_globals(wanted);
    std::vector<StoredTensor> stored;
    for (const GoldenTensor& tensor : wanted) {
      stored.push_back(tensor.stored);
      by_name.emplace(tensor.stored.name, tensor);
    }
    shards.push_back(must(lay_out_safetensors(std::move(stored))));
  }
  for (int shard = 0; shard <= kKimiLayers; ++shard) {
    const SafetensorsLayout& layout = shards[static_cast<std::size_t>(shard)];
    const auto fill = [&](std::size_t tensor, std::uint64_t offset, std::span<std::byte> piece) -> Result<> {
      const std::vector<std::byte> bytes = by_name.at(layout.tensors[tensor].name).bytes();
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), piece.size(), piece.begin());
      return {};
    };
    must(write_safetensors((directory / shard_name(shard + 1, kKimiLayers + 1)).string(), layout, fill,
                           {1, Durability::cached}));
  }
  must(write_safetensors_index(directory.string(), shards));
  must(write_text_file((directory / "config.json").string(), golden_vector().at("config").dump(1)));
}

}  // namespace sluice::test
