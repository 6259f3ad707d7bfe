// The checkpoint of GLM-5.2's golden vector, by the rule of its specification (section 10.1) and its companion file
// tests/golden/glm_dsa/spec_vector.json. Names and shapes are spelled here a second time on purpose: code under test
// must find exactly these.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "support/hash_checkpoint.h"

namespace sluice::test {

const nlohmann::json& glm_vector();                  // spec_vector.json
std::vector<std::vector<HashTensor>> glm_tensors();  // by shard: layers, the draft head, globals
// The vector's config with the epsilon of its latent norms under the key that sluice has for it.
nlohmann::json glm_vector_config();
void write_glm_vector(const std::filesystem::path& directory);

}  // namespace sluice::test
