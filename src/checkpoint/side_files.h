// The small files beside the weights: tokenizer, generation config, chat template, licence, code of the release.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace sluice {

struct SideFile {
  std::string name;
  std::uint64_t bytes = 0;
};

// By name: every file of the directory itself that holds no weights, is not about their places, and is not config.json.
Result<std::vector<SideFile>> side_files(const std::string& directory);

// Copies one, in pieces. `to` gets its name when it is complete; what is there of that name is replaced.
Result<> copy_side_file(const std::string& from, const std::string& to, std::uint64_t bytes);

}  // namespace sluice
