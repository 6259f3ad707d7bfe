// How a release stores its tensors, as far as its config tells: for plans made before anything was fetched.
//
// Never used to read a checkpoint: there formats are what the tensors say (checkpoint/storage.h).
#pragma once

#include <initializer_list>
#include <string_view>

#include "formats/format.h"

namespace sluice {

struct ReleasedForm {
  FormatId plain = FormatId::bf16;  // torch_dtype or dtype
  bool fp8 = false;                 // quantization_config speaks of FP8 blocks
  bool fp8_experts = false;         // expert_dtype (DeepSeek-V4)
};

// Fields that are absent or strange leave what is usual. `json`: text of a config that a family accepts.
ReleasedForm read_released_form(std::string_view json);

bool ends_with_any(std::string_view name, std::initializer_list<std::string_view> endings);
bool contains_any(std::string_view name, std::initializer_list<std::string_view> parts);

}  // namespace sluice
