// The checkpoint of Kimi K3's golden vector, generated from the rule that defines it.
//
// Every weight is a function of its tensor's name and its index, exact in its storage type; nothing is rounded.
// Source: docs/specs of Kimi K3, section 9.7, and its companion file tests/golden/kimi_k3/spec_vector.json, which also
// holds the config and the expected results. Names and shapes are spelled here a second time on purpose: code under
// test must find exactly these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/safetensors_writer.h"

namespace sluice::test {

// How the values of a tensor follow from the mixed word z of an element (9.7, table "Generator").
enum class GoldenRule { matrix, gain, gain_f32, signed_f32, time_bias, decay, latent_matrix, packed, scales };

struct GoldenTensor {
  StoredTensor stored;
  GoldenRule rule = GoldenRule::matrix;
  int parameter = 0;  // exponent e of `matrix` and `signed_f32`, base s of `scales`

  std::vector<std::byte> bytes() const;
};

const nlohmann::json& golden_vector();                             // spec_vector.json
std::vector<GoldenTensor> golden_tensors();                        // all 1204, layer by layer, then the globals
void write_golden_vector(const std::filesystem::path& directory);  // 13 layer shards, one of globals, index, config

std::uint64_t fnv1a64(std::span<const std::byte> bytes);
std::uint64_t golden_word(std::uint64_t name_hash, std::uint64_t index);  // z of the element

}  // namespace sluice::test
