// DeepSeek-V4 as a family: what the registry lists.
#pragma once

#include <memory>
#include <string_view>

#include "models/common/released_form.h"
#include "models/model.h"

namespace sluice::deepseek_v4 {

// False if this is no config of the family (by model_type).
bool accepts(std::string_view model_type);
Result<std::unique_ptr<ModelConfig>> open_config(std::string_view json, std::string_view where);
// See released_format in registry.h.
FormatId released_format(const ReleasedForm& form, const TensorSpec& tensor);
// See kept_matrices in registry.h: what the release keeps in float (spec 3.10): the router, the mixing of streams, the
// compressors and the weights of index heads.
inline constexpr std::string_view kKeptMatrices[] = {"ffn.gate.weight",
                                                     "hc_attn_fn",
                                                     "hc_ffn_fn",
                                                     "hc_head_fn",
                                                     "compressor.ape",
                                                     "compressor.wkv.weight",
                                                     "compressor.wgate.weight",
                                                     "weights_proj.weight"};

}  // namespace sluice::deepseek_v4
