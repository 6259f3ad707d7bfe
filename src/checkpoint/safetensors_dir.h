// Released checkpoints as they are: a directory of safetensors shards.
//
// Files are found by their ending and sorted by name; model.safetensors.index.json is not needed, the headers say it
// all. Shards may be missing until a census asks for something in them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/tensor_index.h"

namespace sluice {

class SafetensorsDir : public Checkpoint {
 public:
  static Result<std::unique_ptr<SafetensorsDir>> open(const std::string& directory, int threads);

  const std::string& directory() const override { return directory_; }
  const std::vector<std::string>& files() const override { return index_.files(); }
  Result<BoundCensus> bind(const Census& census, bool partial) const override;

  const TensorIndex& index() const { return index_; }

 private:
  SafetensorsDir(std::string directory, TensorIndex index)
      : directory_(std::move(directory)), index_(std::move(index)) {}

  std::string directory_;
  TensorIndex index_;
};

}  // namespace sluice
