// OLMoE as a family: what the registry lists.
#pragma once

#include <memory>
#include <string_view>

#include "models/common/released_form.h"
#include "models/model.h"

namespace sluice::olmoe {

bool accepts(std::string_view model_type);
Result<std::unique_ptr<ModelConfig>> open_config(std::string_view json, std::string_view where);
// See released_format in registry.h.
FormatId released_format(const ReleasedForm& form, const TensorSpec& tensor);
// See kept_matrices in registry.h: the router.
inline constexpr std::string_view kKeptMatrices[] = {"mlp.gate.weight"};

}  // namespace sluice::olmoe
