// Another directory with the same shards, for reading from two drives at once: is it the same checkpoint?
//
// Looked at here: that every shard is there, with the same size, the same header, and the same bytes at some places
// spread over it. Weights beyond those places are what checksums are for (docs/reading.md). Only shards are read from
// a mirror; its config and tokenizer are not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace sluice {

struct Mirror {
  std::string directory;
  std::vector<std::string> files;  // in the order of the checkpoint's shards
  bool same_drive = false;         // as the checkpoint: then it brings nothing
};

// `shards`: the checkpoint's. A directory that is not there, or that is the checkpoint itself: bad_input. A shard that
// is missing or differs: corrupt, by name.
Result<Mirror> open_mirror(const std::string& directory, const std::vector<std::string>& shards);

}  // namespace sluice
