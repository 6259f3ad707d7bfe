// What the file names of a sharded checkpoint tell: "model-00003-of-000096.safetensors" says that there are 96.
#pragma once

#include <string>
#include <vector>

namespace sluice {

// Paths of the *.safetensors files of a directory, sorted by name. Empty if there are none or it cannot be listed.
std::vector<std::string> find_shards(const std::string& directory);

// File names that the numbering of `paths` promises and that are not among them, in order.
std::vector<std::string> missing_shards(const std::vector<std::string>& paths);

// A path without its directory.
std::string file_name(const std::string& path);

}  // namespace sluice
