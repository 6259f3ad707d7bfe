// How OLMoE is released: every tensor as the config says. See family.h.
#include "models/olmoe/family.h"

namespace sluice::olmoe {

FormatId released_format(const ReleasedForm& form, const TensorSpec&) { return form.plain; }

}  // namespace sluice::olmoe
