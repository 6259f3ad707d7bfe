// How Kimi K3 is released: spec section 2.2. See family.h.
#include "models/kimi_k3/family.h"

namespace sluice::kimi_k3 {

FormatId released_format(const ReleasedForm& form, const TensorSpec& tensor) {
  if (ends_with_any(tensor.name, {"_conv1d.weight", "A_log", "dt_bias", "o_norm.weight", "e_score_correction_bias"}))
    return FormatId::f32;
  return contains_any(tensor.name, {".experts."}) ? FormatId::mxfp4 : form.plain;
}

}  // namespace sluice::kimi_k3
