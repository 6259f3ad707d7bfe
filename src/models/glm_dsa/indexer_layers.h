// Which layers choose keys with an indexer of their own, as a config says it in one of three ways (spec section 1.3).
#pragma once

#include <vector>

#include "base/fields.h"

namespace sluice::glm_dsa {

// By layer: true owns an indexer, false reuses the choice of the nearest owner before it. In order of precedence: the
// list `indexer_types`, the string or list `index_topk_pattern`, `index_topk_freq` with `index_skip_topk_offset`
// (defaults 1 and 2: all layers). Faults are noted in `fields`.
std::vector<bool> read_indexer_layers(const Fields& fields, int layers);

}  // namespace sluice::glm_dsa
