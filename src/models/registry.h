// The list of families. A new one is a folder beside this file and one line in registry.cpp.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "models/common/released_form.h"
#include "models/model.h"

namespace sluice {

// Recognises a family by config.json's text alone. `where` names the file in errors. Unknown model_type: unsupported,
// lists what there is.
Result<std::unique_ptr<ModelConfig>> read_model_config(std::string_view json, std::string_view where);

// Endings of the names of matrices that conversion leaves as they are, like all vectors: they weigh little and steer
// much. Requires: a config that read_model_config made.
std::span<const std::string_view> kept_matrices(const ModelConfig& config);

// How the release of this model stores a tensor of its census: an assumption, for plans before there is a checkpoint.
// Requires: a config that read_model_config made.
FormatId released_format(const ModelConfig& config, const ReleasedForm& form, const TensorSpec& tensor);

}  // namespace sluice
