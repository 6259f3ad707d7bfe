// A checkpoint on disk: config, files, and where its tensors are. Reads headers only, never weights.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/bound.h"

namespace sluice {

class Checkpoint {
 public:
  virtual ~Checkpoint() = default;
  virtual const std::string& directory() const = 0;
  // Paths of the files that extents refer to by number.
  virtual const std::vector<std::string>& files() const = 0;
  // Finds everything the census wants. Every missing, mis-shaped, undecodable or surplus tensor is reported in one
  // Error (the first dozen by name, the rest counted; a missing shard is named). Surplus: names outside the census and
  // its ignored prefixes; with `partial` (a census of the first N layers) surplus is not an error.
  virtual Result<BoundCensus> bind(const Census& census, bool partial) const = 0;
};

// Opens a directory of safetensors shards; `threads` parse headers side by side.
Result<std::unique_ptr<Checkpoint>> open_checkpoint(const std::string& directory, int threads);

// The text of DIR/config.json. Missing or unreadable: bad_input, names the path.
Result<std::string> read_config(const std::string& directory);

}  // namespace sluice
