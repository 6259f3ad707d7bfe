// Which checkpoint is this? A short name for what a directory holds, without reading all of it.
//
// Hashes the config, the size of every shard, every tensor's name, type, shape and place, and pages of weights spread
// over each shard. Two releases or two seeds differ in every page; a single damaged byte may go unnoticed (`verify`
// reads everything). Does not depend on where the directory lies or when it was written.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "checkpoint/tensor_index.h"
#include "io/files.h"

namespace sluice {

// 32 hexadecimal digits (XXH3-128). Requires: `files` are those of the index.
Result<std::string> fingerprint(std::string_view config, const TensorIndex& index, const Files& files);

// The same in a hurry, for what may be wrong without harm: config, names and sizes of shards, and a page from the
// middle of each. 16 hexadecimal digits.
Result<std::string> quick_fingerprint(std::string_view config, const Files& files);

}  // namespace sluice
