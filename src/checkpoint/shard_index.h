// model.safetensors.index.json: which shard holds which tensor. Read only when shards are absent, to tell whether they
// matter.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace sluice {

// Of the shards that are not in the directory, those that may hold something wanted: a shard is forgiven if the index
// lists it and everything it lists there begins with an ignored prefix (Kimi K3: the two vision shards of a text-only
// download). Without a readable index none is forgiven.
std::vector<std::string> shards_that_matter(const std::string& directory, std::vector<std::string> absent,
                                            std::span<const std::string> ignored);

}  // namespace sluice
