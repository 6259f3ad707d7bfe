// Checkpoints whose every weight is a function of its tensor's name and its place, so that a golden vector needs no
// weights: float32((2 u - 1) · a + b) with u the top 24 bits of the mixed word. Source: spec of GLM-5.2, section 10.1;
// OLMoE's vectors use the same rule.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace sluice::test {

struct HashTensor {
  std::string name;
  std::vector<std::uint64_t> shape;
  double a = 0, b = 0;
  std::vector<std::int64_t> ids = {};  // whole numbers by a rule of their own, in place of the weights

  std::vector<float> values() const;  // row-major
};

// The counts and spot checks of a vector's file ("n_tensors", "n_parameters", "tensor_checks") hold for these tensors.
void expect_tensors_of(const nlohmann::json& vector, const std::vector<std::vector<HashTensor>>& shards);

// One file a shard, with index and config.json. Everything is stored as F32, ids as I64.
void write_hash_checkpoint(const std::filesystem::path& directory, const std::vector<std::vector<HashTensor>>& shards,
                           const nlohmann::json& config);

}  // namespace sluice::test
