// How DeepSeek-V4 is released: spec sections 2.1 and 3.10. See family.h.
#include "models/deepseek_v4/family.h"

namespace sluice::deepseek_v4 {

FormatId released_format(const ReleasedForm& form, const TensorSpec& tensor) {
  const std::string_view name = tensor.name;
  if (contains_any(name, {".experts."})) return form.fp8_experts ? FormatId::fp8_e8m0 : FormatId::mxfp4;
  if (contains_any(name, {"hc_"}) || ends_with_any(name, {"attn_sink", ".ape", "gate.bias"})) return FormatId::f32;
  const bool is_linear = contains_any(name, {".attn.w", "indexer.wq_b.", ".shared_experts."}) ||
                         ends_with_any(name, {".e_proj.weight", ".h_proj.weight"});
  return is_linear ? FormatId::fp8_e8m0 : form.plain;
}

}  // namespace sluice::deepseek_v4
