// The checkpoint of DeepSeek-V4's golden vector, generated from the rule that defines it (the family's specification,
// section 9.3). Names and shapes are spelled here a second time on purpose: code under test must find exactly these.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "support/hash_checkpoint.h"

namespace sluice::test {

inline constexpr std::uint64_t kV4Experts = 6, kV4Hidden = 32, kV4Inner = 32;

const nlohmann::json& v4_vector();                  // spec_vector.json
std::vector<std::vector<HashTensor>> v4_tensors();  // by shard: a layer each, the MTP block, the globals
nlohmann::json v4_vector_config();                  // config.json in the names of the release
void write_v4_vector(const std::filesystem::path& directory);

}  // namespace sluice::test
