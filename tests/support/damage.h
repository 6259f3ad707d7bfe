// The ways a checkpoint breaks on its way to a user: what tests do to a copy of a good one. Throws if it cannot.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/function_ref.h"

namespace sluice::test {

// All files of a directory into a new one.
void copy_checkpoint(const std::filesystem::path& from, const std::filesystem::path& to);
// Shards by name, in order.
std::vector<std::filesystem::path> shards_of(const std::filesystem::path& directory);

void cut_tail(const std::filesystem::path& file, std::uint64_t bytes);
void flip_byte(const std::filesystem::path& file, std::uint64_t offset);
void overwrite(const std::filesystem::path& file, std::uint64_t offset, const std::string& bytes);
// Applies `edit` to DIRECTORY/config.json.
void edit_config(const std::filesystem::path& directory, FunctionRef<void(nlohmann::json& config)> edit);
// Overwrites one byte of a tensor's data, found by name.
void set_tensor_byte(const std::filesystem::path& directory, const std::string& tensor, std::uint64_t offset,
                     std::uint8_t value);

}  // namespace sluice::test
