// How GLM-5.2 and its relatives are released, in bf16 or in FP8 blocks: spec sections 1.4 and 2.2. See family.h.
#include "models/glm_dsa/family.h"

namespace sluice::glm_dsa {

FormatId released_format(const ReleasedForm& form, const TensorSpec& tensor) {
  if (tensor.name.ends_with("e_score_correction_bias")) return FormatId::f32;
  const bool is_matrix = tensor.shape.rows > 1 && tensor.shape.cols > 1;
  const bool stays =
      contains_any(tensor.name, {"embed_tokens.", "lm_head.", "mlp.gate.weight", "weights_proj.", "eh_proj."});
  return form.fp8 && is_matrix && !stays ? FormatId::fp8 : form.plain;
}

}  // namespace sluice::glm_dsa
