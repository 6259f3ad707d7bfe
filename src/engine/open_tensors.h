// A checkpoint opened to look at its weights as such, for commands that run no model: convert and compare.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "checkpoint/model_tensors.h"
#include "checkpoint/safetensors_dir.h"
#include "io/files.h"
#include "models/model.h"

namespace sluice {

struct OpenTensors {
  std::string config_text;
  std::unique_ptr<ModelConfig> config;
  std::unique_ptr<SafetensorsDir> checkpoint;
  std::unique_ptr<Files> files;
  std::unique_ptr<ModelCensus> census;  // both at fixed places: tensors refers to them
  std::unique_ptr<BoundCensus> bound;
  std::unique_ptr<ModelTensors> tensors;
};

// The whole model, with the head that drafts if it has one. Fails as binding does.
Result<OpenTensors> open_tensors(const std::string& directory, int threads);

}  // namespace sluice
